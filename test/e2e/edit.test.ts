import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { makeServedHome, startOnTerminal } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { repoconfCommand } from "../helpers/spawned-daemon.ts";

let count = 0;

const home = await makeServedHome();
afterAll(() => home[Symbol.asyncDispose]());
for (const name of ["shop", "temporary"]) await mkdir(join(home.workFolder, name));
await home.succeed(["repo", "add", "shop"]);
await home.succeed(["set", "--repo", "shop", "svc.timeout=30", `svc.services={"web":{"ready":"r","image":"i"}}`]);

/** Creates an editor: a shell script that gets the file as $1. */
async function editor(script: string): Promise<{ readonly EDITOR: string }> {
  count += 1;
  const file = join(home.workFolder, `my editor ${count}`);
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o700);
  return { EDITOR: `'${file}' -x` };
}

const edit = async (args: readonly string[], script: string) =>
  home.run(["edit", "--repo", "shop", ...args], {
    environment: { ...(await editor(`shift; ${script}`)), VISUAL: "", TMPDIR: join(home.workFolder, "temporary") },
  });
const refuses = async (args: readonly string[], script: string, said: string) =>
  expect(await edit(args, script)).toMatchObject({ code: 3, errorOutput: expect.stringContaining(said) });
const get = (field: string) => home.succeed(["get", "--repo", "shop", field]);

describe("repoconf edit", () => {
  test("opens the file of the repository, and what is saved is active", async () => {
    expect(await edit([], `sed -i 's/"timeout": 30/"timeout": 31/' "$1"`)).toMatchObject({
      code: 0,
      output: "Saved the file of shop.\n",
      errorOutput: "",
    });
    expect(await get("svc.timeout")).toBe("31\n");
  });

  test("is what to type where a set is refused because a file of the home is broken, and fixes it", async () => {
    const [entry] = await home.json(["repo", "list"]);
    const file = join(home.homeFolder, "repos", `${entry.id}.json`);
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace('"r"', '"r" oops'));
    const said = /\.json: expected a value .*\(line \d+, column \d+\)\. To edit it: repoconf edit\n$/;
    await home.refuse(1, ["set", "--repo", "shop", "svc.timeout=32"], said);
    expect(await edit([], `sed -i 's/ oops//' "$1"`)).toMatchObject({ code: 0, errorOutput: "" });
    await home.succeed(["set", "--repo", "shop", "svc.timeout=31"]);
  });

  test("opens one value in a file with a matching extension, and records the reason in the history", async () => {
    const script = `case "$1" in *.json) sed -i 's/"i"/"node:25"/' "$1";; esac`;
    expect(await edit(["svc.services", "--reason", "newer"], script)).toMatchObject({
      code: 0,
      output: "Set svc.services.\n",
    });
    expect(await get("svc.services.web.image")).toBe("node:25\n");
    expect(await home.succeed(["history", "--repo", "shop", "--limit", "1"])).toContain("newer");
    expect(await edit(["svc.domain"], `case "$1" in *.txt) echo shop.test > "$1";; esac`)).toMatchObject({ code: 0 });
    expect(await get("svc.domain")).toBe("shop.test\n");
  });

  test("opens a place inside a value", async () => {
    expect(await edit(["svc.services.web.image"], `echo node:26 > "$1"`)).toMatchObject({
      output: "Set svc.services.web.image.\n",
    });
    expect(await get("svc.services.web")).toBe('{"ready":"r","image":"node:26"}\n');
  });

  test("changes nothing if the text was not changed, and tells of an editor that may not have waited", async () => {
    const output = expect.stringMatching(/^Nothing was changed\. If .* opened a window, .* EDITOR='code --wait'\.\n$/);
    expect(await edit([], "true")).toMatchObject({ code: 0, output });
  });

  test("on a terminal waits for what is saved in a window that an editor opened", async ({ skip }) => {
    skip(process.platform !== "linux", "not Linux");
    const { EDITOR } = await editor(
      `shift; (while ! [ -e "$0.now" ]; do sleep 0.05; done; echo 12 > "$1") > /dev/null &`,
    );
    using terminal = startOnTerminal(home, ["edit", "--repo", "shop", "svc.timeout"], {
      environment: { EDITOR, VISUAL: "", TMPDIR: join(home.workFolder, "temporary") },
    });
    await until(() => terminal.output().includes("save the text there first. Continue? [y/N]"), "the question");
    await writeFile(`${/'(.*)'/.exec(EDITOR)?.[1]}.now`, "");
    const [folder = ""] = await readdir(join(home.workFolder, "temporary"));
    const file = join(home.workFolder, "temporary", folder, "svc.timeout.json");
    await until(async () => (await readFile(file, "utf8")) === "12\n", "the window to save");
    terminal.process.stdin.write("y\n");
    expect(await terminal.ended).toBe(0);
    expect(await get("svc.timeout")).toBe("12\n");
  });

  test("opens a text with half of a character as JSON, so that it stays", async () => {
    await home.succeed(["set", "--repo", "shop", String.raw`svc.domain:="a\ud800"`]);
    expect(await edit(["svc.domain"], `sed -i 's/a/b/' "$1"`)).toMatchObject({ output: "Set svc.domain.\n" });
    expect(await home.succeed(["get", "--repo", "shop", "--json", "svc.domain"])).toBe('"b\\ud800"\n');
    await home.succeed(["unset", "--repo", "shop", "svc.domain"]);
  });

  test("saves nothing that is invalid: it reports the position and keeps the text", async () => {
    await home.succeed(["set", "--repo", "shop", "svc.timeout=31"]);
    const { code, output, errorOutput } = await edit([], `sed -i 's/"timeout": 31/"timeout": "soon"/' "$1"`);
    expect(output).toBe("");
    expect(errorOutput).toMatch(/svc\.timeout must be an integer.*\(line \d+, column \d+\)/);
    expect(code).toBe(3);
    const kept = /Your text is saved in (\S+)/.exec(errorOutput)?.[1] ?? "";
    expect(await readFile(kept, "utf8")).toContain(`"timeout": "soon"`);
    expect(await get("svc.timeout")).toBe("31\n");
    await refuses([], `echo '{' > "$1"`, "line 2");
    await refuses(["svc.services"], `echo '{' > "$1"`, "not valid JSON");
    await refuses(["svc.timeout"], `echo 99999999 > "$1"`, "must be at most 86400");
    expect(await get("svc.timeout")).toBe("31\n");
  });

  test("never overwrites a change made in the meantime", async () => {
    await home.succeed(["set", "--repo", "shop", "svc.timeout=31"]);
    const set = (value: string) => `"$REPOCONF_NODE" "$REPOCONF_CLI" set --repo shop svc.timeout=${value} > /dev/null`;
    const [node, cli] = [process.execPath, repoconfCommand];
    const among = (script: string) => `REPOCONF_NODE='${node}' REPOCONF_CLI='${cli}'; ${script}`;
    const { code, errorOutput } = await edit([], among(`${set("40")}; sed -i 's/"timeout": 31/"timeout": 50/' "$1"`));
    expect(errorOutput).toContain("The file was changed in the meantime");
    expect(code).toBe(3);
    const now = /Its current text is in (\S+)\. /.exec(errorOutput)?.[1] ?? "";
    expect(await readFile(now, "utf8")).toContain(`"timeout": 40`);
    expect(await get("svc.timeout")).toBe("40\n");
    // A change of another field does not conflict with editing one value.
    expect(await edit(["svc.domain"], among(`${set("41")}; echo d > "$1"`))).toMatchObject({ code: 0 });
    const again = among(`${set("42")}; echo 43 > "$1"`);
    await refuses(["svc.timeout"], again, "svc.timeout was changed in the meantime");
    expect(await get("svc.timeout")).toBe("42\n");
  });

  test("on a terminal asks to edit again, and leaves what is typed then to the editor", async ({ skip }) => {
    skip(process.platform !== "linux", "not Linux");
    // If two programs read from a terminal, either may get a line. The editor would hardly get all ten lines by chance.
    const { EDITOR } = await editor(
      `shift; if [ -e "$0.ran" ]; then for line in 1 2 3 4 5 6 7 8 9 10; do echo "value $line?"; read value; done; echo "$value" > "$1"; else touch "$0.ran"; echo 99999999 > "$1"; fi`,
    );
    const environment = { EDITOR, VISUAL: "" };
    using terminal = startOnTerminal(home, ["edit", "--repo", "shop", "svc.timeout"], { environment });
    const { output, ended } = terminal;
    const { stdin } = terminal.process;
    const untilPrinted = (part: string) => until(() => output().includes(part), part);
    await untilPrinted("Edit again? [y/N]");
    expect(output()).toContain("must be at most 86400");
    stdin.write("y\n");
    for (let line = 1; line <= 10; line += 1) {
      await untilPrinted(`value ${line}?`);
      for (const digit of "4711") stdin.write(digit);
      stdin.write("\n");
    }
    await untilPrinted("Set svc.timeout.");
    expect(await ended).toBe(0);
    expect(await get("svc.timeout")).toBe("4711\n");
  });

  test("reports an editor that fails, and leaves no temporary file behind", async () => {
    const folders = () => readdir(join(home.workFolder, "temporary"));
    const before = await folders();
    expect(await edit([], "exit 7")).toMatchObject({ code: 1, errorOutput: expect.stringContaining("failed with 7") });
    expect(await folders()).toEqual(before);
    // One that would wait for a terminal is not started.
    for (const EDITOR of ["", "/usr/bin/vim -n"])
      await home.refuse(1, ["edit", "--repo", "shop"], /needs a terminal.*repoconf set FIELD=VALUE/, {
        environment: { VISUAL: "", EDITOR },
      });
    // What was typed until then is saved.
    expect((await edit([], `echo '{}' > "$1"; exit 7`)).errorOutput).toContain("Your text is saved in");
    expect(await folders()).toHaveLength(before.length + 1);
  });
});
