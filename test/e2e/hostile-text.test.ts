import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { addScope, type CommandHome, makeServedHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { type Finished, onTerminal, projectFolder, spawnDaemon } from "../helpers/spawned-daemon.ts";

/** Sets a title, clears the screen, sets colors (also with a one-character escape), deletes, and reverses the text direction. */
const evil = "a\u001b]0;owned\u0007\u001b[2J\u009b31m\u007f\u202ecod.exe\u2066\u200f\u2028b";
/** The same text as it must be shown. */
const shown = "a\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m\\u007f\\u202ecod.exe\\u2066\\u200f\\u2028b";
/** Characters that no output may contain, except for line ends. */
const obeyed = /[^\P{Cc}\n]|\p{Bidi_Control}|[\u2028\u2029]/u;

/** Our own colors would be escape sequences too, so turn them off. */
const options = { nodeArguments: onTerminal, environment: { FORCE_COLOR: "0" } };
const run = (...args: readonly string[]) => home.run(args, options);

/** A home with a hostile text in every place that can contain one; the commands run in the folder of the repository `shop`. */
async function makeHostileHome(): Promise<CommandHome> {
  const made = await makeServedHome();
  const must = async (...args: readonly string[]) => {
    const { code, errorOutput } = await made.run(args);
    if (code !== 0) throw new Error(`${args.join(" ")}: ${errorOutput}`);
  };
  await must("repo", "add", made.workFolder, "--name", evil, "--id", "shop");
  const token = { type: "string", title: evil, description: evil, pattern: "b$", default: evil };
  await addScope(made, "deploy", { token }, { title: evil });
  await must("set", `svc.domain=${evil}`, "--reason", evil);
  await must("set", "svc.timeout=5");
  await made.put("scopes/bad.schema.json", `{ "${evil}": 1, "${evil}": 2 }`);
  await must("key", "create", evil);
  await mkdir(join(made.workFolder, evil, ".git"), { recursive: true });
  await writeFile(
    join(made.workFolder, "evil.json"),
    JSON.stringify({ svc: { [evil]: 1, domain: evil }, [evil]: { a: 1 } }),
  );
  await writeFile(join(made.workFolder, "evil.env"), `SVC_DOMAIN='x'\n`);
  await made.put("settings.json", { origins: [evil] });
  // Two more, with a broken file and with unknown content.
  await made.put("repos/broken.json", `{ "config": { "${evil}": 1, "${evil}": 2 } }`);
  await made.put("repos/sick.json", { name: evil, config: { svc: { timeout: evil, [evil]: 1 }, [evil]: {} } });
  await until(async () => (await made.run(["repo", "list"])).output.includes("sick"), "the repositories");
  return made;
}

const home = await makeHostileHome();
afterAll(() => home[Symbol.asyncDispose]());

function isHarmless({ output, errorOutput }: Finished): void {
  expect(obeyed.exec(output)).toBeNull();
  expect(obeyed.exec(errorOutput)).toBeNull();
}

describe("a terminal obeys no text that comes from outside", () => {
  test.each<readonly [title: string, ...args: string[]]>([
    ["folders that a scan found, before it asks", "repo", "add", "--scan", "."],
    ["a folder that was added", "repo", "add", evil],
    ["a folder that is not there", "repo", "add", `${evil}/none`],
    ["names of repositories", "repo", "list"],
    ["a new name", "repo", "rename", "shop", `${evil}\nAdded another`],
    ["a new place", "repo", "move", "sick", evil],
    ["a repository that is not there", "get", "svc.timeout", "--repo", `${evil}?`],
    ["a field that is not there", "get", `svc.${evil}`],
    ["values", "list"],
    ["a value", "get", "svc.domain"],
    ["a value with its revision", "get", "svc.domain", "--with-revision"],
    ["values of a sick file", "list", "--repo", "sick"],
    ["what is exported", "export"],
    ["what is exported as variables", "export", "--format", "env"],
    ["where a value comes from", "explain", "svc.domain"],
    ["what is wrong with a value", "explain", "svc.timeout", "--repo", "sick"],
    ["reasons and values of the past", "history"],
    ["what differs", "diff", "1"],
    ["what differs from another", "diff", "--with", "sick"],
    ["schemas", "describe"],
    ["a schema", "describe", "deploy.token"],
    ["a value that is set", "set", `svc.domain=${evil}`],
    ["a value that is refused", "set", `svc.timeout=${evil}`, `deploy.token=${evil}`],
    ["a value for a broken file", "set", "svc.timeout=1", "--repo", "broken"],
    ["what is undone", "undo"],
    ["what is restored", "restore", "1"],
    ["what is not set any more", "unset", "svc.domain"],
    ["a file that is refused", "import", "evil.json"],
    ["what an import would do", "import", "evil.json", "--ignore-unknown", "--dry-run"],
    ["a file that is not there", "import", evil],
    ["keys", "key", "list"],
    ["a key that is made", "key", "create", `${evil} 2`],
    ["a key that is there already", "key", "create", evil],
    ["a key that is ended", "key", "revoke", `${evil} 2`],
    ["how the daemon is", "status"],
    ["what is wrong with the home", "doctor"],
    ["settings", "settings"],
    ["a backup", "backup", evil],
    ["a command that is not there", evil],
    ["an option that is not there", "list", `--${evil}`],
    ["what completes a word", "complete", "--", "list", "--repo", ""],
    ["what is forgotten", "history", "forget", "svc.domain", "--yes"],
    ["a repository that is taken out", "repo", "remove", "sick", "--yes"],
  ])("%s", async (_title, ...args) => {
    const finished = await run(...args);
    isHarmless(finished);
    // The command did not crash.
    expect(finished.errorOutput).not.toMatch(/\n\s+at /);
  });

  test.each([["repo", "list"], ["list", "--repo", "shop"], ["history"], ["describe"], ["doctor"], ["key", "list"]])(
    "JSON of %s %s: the same value, in harmless characters",
    async (...args) => {
      const finished = await run(...args, "--json");
      isHarmless(finished);
      expect(JSON.parse(finished.output)).toBeTruthy();
    },
  );

  test("the text is shown escaped and not dropped, also in a pipe; programs read it unchanged", async () => {
    await home.run(["set", `svc.provider=${evil}`]);
    expect((await home.run(["list", "svc.provider"])).output).toContain(shown);
    expect((await home.run(["get", "svc.provider"])).output).toBe(`${evil}\n`);
    expect(JSON.parse((await home.run(["get", "svc.provider", "--json"])).output)).toBe(evil);
    expect(JSON.parse((await home.run(["export"])).output).svc.provider).toBe(evil);
  });

  test("the output of a watch, and the daemon's log", async () => {
    await using daemon = await spawnDaemon(["--port", "0", "--log-level", "debug"], undefined, onTerminal);
    const run = (args: readonly string[]) => home.run([...args, "--home", daemon.homeFolder], options);
    await run(["repo", "add", home.workFolder, "--name", evil, "--id", "shop"]);
    const told = () => watch.output() + watch.errorOutput();
    using watch = home.start(["watch", "--all", "--home", daemon.homeFolder], options);
    await until(async () => {
      await run(["set", `svc.domain=${evil}${Math.random()}`, "--reason", evil, "--repo", "shop"]);
      return told().includes("owned");
    }, "a change");
    await run(["explain", `svc.${evil}`, "--repo", "shop"]);
    await writeFile(join(daemon.homeFolder, "repos/shop.json"), `{ "config": { "${evil}": 1, "${evil}": 2 } }`);
    await until(() => told().includes("has problems"), "the problem");
    expect(obeyed.exec(told())).toBeNull();
    await until(() => daemon.errorOutput().includes("owned"), "a line in the log");
    expect(obeyed.exec(daemon.errorOutput())).toBeNull();
  });

  test("no other file of the command line writes to the terminal", async () => {
    const folder = resolve(projectFolder, "main/cli");
    const files = (await readdir(folder, { recursive: true })).filter(name => name.endsWith(".ts"));
    const writing = [];
    for (const file of files)
      if (/std(out|err)\.write|console\.|createWriteStream\(.\/dev/.test(await readFile(join(folder, file), "utf8")))
        writing.push(file);
    // repoconf.ts writes that Node is too old, before anything can be imported.
    expect(writing.sort()).toEqual(["output/terminal.ts", "repoconf.ts"]);
  });
});
