import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { svcSchema } from "../../shared/scopes/svc.ts";
import { makeServedHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { repoconfCommand, runProcess } from "../helpers/spawned-daemon.ts";

const fieldCount = Object.keys(svcSchema.properties).length;

const home = await makeServedHome();
afterAll(() => home[Symbol.asyncDispose]());
const folder = join(home.workFolder, "shop");
await mkdir(join(folder, "src"), { recursive: true });
execFileSync("git", ["init", "-q", folder]);
await home.succeed(["repo", "add"], { folder: join(folder, "src") });

const inFolder = (args: readonly string[], input = "") => home.run(args, { folder: join(folder, "src"), input });
const succeed = (args: readonly string[], input = "") => home.succeed(args, { folder: join(folder, "src"), input });

describe("values on the command line", () => {
  test("set parses each value according to its field's schema, and get prints it for scripts", async () => {
    const services = `{"web":{"ready":"curl -f localhost:8080","image":"node:24"}}`;
    expect(
      await succeed(["set", "svc.timeout=30", `svc.services=${services}`, "svc.default=web", "svc.default_port=8081"]),
    ).toBe(
      `Set svc.timeout = 30\nSet svc.services = ${services}\nSet svc.default = web\nSet svc.default_port = 8081\n`,
    );
    expect(await succeed(["get", "svc.timeout", "svc.default_port"])).toBe("30\n8081\n");
    expect(await succeed(["get", "svc.default_port", "--json"])).toBe(`"8081"\n`);
    expect(JSON.parse(await succeed(["get", "svc.services"]))).toEqual(JSON.parse(services));
  });

  test("get and list can print the revision with the values, for a change that fails if another one came first", async () => {
    await succeed(["set", "svc.timeout=30", "svc.provider=two words"]);
    const [revision, ...value] = (await succeed(["get", "svc.provider", "--with-revision"])).trimEnd().split(" ");
    expect(value).toEqual(["two", "words"]);
    const known = { revision: Number(revision) };
    expect(known.revision).toBeGreaterThan(1);
    expect(JSON.parse(await succeed(["get", "svc.timeout", "--with-revision", "--json"]))).toEqual({
      ...known,
      value: 30,
    });
    const config = { svc: { timeout: 30 } };
    expect(JSON.parse(await succeed(["list", "svc.timeout", "--with-revision"]))).toEqual({ ...known, config });
    expect(JSON.parse(await succeed(["list", "svc.timeout", "--with-revision", "--revision", "1"]))).toEqual({
      revision: 1,
      config: { svc: { timeout: 900 } },
    });
    await succeed(["set", "svc.timeout=31", "--if-revision", `${known.revision}`]);
    expect((await inFolder(["set", "svc.timeout=32", "--if-revision", `${known.revision}`])).code).toBe(3);
    expect(await succeed(["get", "svc.timeout"])).toBe("31\n");
    await succeed(["set", "svc.timeout=30"]);
    await succeed(["unset", "svc.provider"]);
  });

  test("a value can come from a file or standard input, or start with an @", async () => {
    await writeFile(join(folder, "src/value.txt"), "from a file\n");
    await succeed(["set", "svc.provider=@value.txt"]);
    expect(await succeed(["get", "svc.provider"])).toBe("from a file\n");
    await succeed(["set", "svc.provider=-"], "from a pipe\n");
    expect(await succeed(["get", "svc.provider"])).toBe("from a pipe\n");
    await succeed(["set", "svc.provider=@@home"]);
    expect(await succeed(["get", "svc.provider"])).toBe("@home\n");
    await succeed(["unset", "svc.provider"]);
  });

  test("list prints tab-separated lines to a pipe, and JSON for programs", async () => {
    expect(await succeed(["list", "svc.timeout"])).toBe("svc.timeout\t30\tstored\n");
    const lines = (await succeed(["list"])).trimEnd().split("\n");
    expect(lines).toHaveLength(fieldCount);
    expect(lines).toContain("svc.refresh_hour\t4\tdefault");
    expect(JSON.parse(await succeed(["list", "svc", "--stored", "--json"]))).toMatchObject({ svc: { timeout: 30 } });
  });

  test("explain shows the file and line of a stored value, and says if it is the default", async () => {
    expect(await succeed(["explain", "svc.timeout"])).toMatch(/comes from {2}\S+repos\/[0-9a-f]{24}\.json:\d+:\d+\n/);
    expect(await succeed(["explain", "svc.domain"])).toContain("comes from  the default\n");
    expect(JSON.parse(await succeed(["explain", "svc.timeout", "--json"]))).toMatchObject({
      value: 30,
      default: 900,
      origin: "stored",
    });
  });

  test("unset restores the default", async () => {
    expect(await succeed(["unset", "svc.timeout"])).toBe("Unset; now svc.timeout = 900\n");
    expect(await succeed(["list", "svc.timeout"])).toBe("svc.timeout\t900\tdefault\n");
  });

  test("an invalid value in the file is not shown as stored", async () => {
    await succeed(["set", "svc.timeout=30", "svc.refresh_day=2"]);
    const { file } = JSON.parse(await succeed(["explain", "svc.timeout", "--json"]));
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(`"timeout": 30`, `"timeout": "soon"`));
    await until(async () => (await succeed(["list", "svc.timeout"])).endsWith("last valid\n"), "the edit to be seen");
    expect(await succeed(["list", "svc.refresh_day"])).toBe("svc.refresh_day\t2\tstored\n");
    await writeFile(file, "{");
    const isSeen = async () => (await succeed(["list", "svc.refresh_day"])).endsWith("last valid\n");
    await until(isSeen, "the edit to be seen");
    expect(await succeed(["list", "svc.domain"])).toBe(`svc.domain\t""\tdefault\n`);
    await writeFile(file, text);
    await until(async () => (await succeed(["list", "svc.timeout"])).endsWith("stored\n"), "the edit to be seen");
    await succeed(["unset", "svc.timeout", "svc.refresh_day"]);
  });

  test("describe shows what a field accepts; without an argument, all fields", async () => {
    expect(await succeed(["describe", "svc.refresh_hour"])).toContain("integer from 0 to 23");
    expect((await succeed(["describe"])).trimEnd().split("\n")).toHaveLength(fieldCount);
    expect(JSON.parse(await succeed(["describe", "svc.timeout", "--json"]))).toMatchObject({ maximum: 86_400 });
    expect(await succeed(["describe", "svc.services"])).toContain(
      `{ NAME: { "ready": string, "image": string }, ... }`,
    );
    expect(await succeed(["describe", "svc.envvars"])).toContain(`[{ "name": string, "value": string }, ...]`);
    expect(await succeed(["describe"])).not.toContain("^");
    expect(await succeed(["scope", "list"])).toMatch(new RegExp(`^svc\\t${fieldCount}\\t`));
  });

  test("shared options may come before the command", async () => {
    await succeed(["set", "svc.domain=early"]);
    const elsewhere = (args: readonly string[]) => home.succeed(args, { environment: { REPOCONF_HOME: "" } });
    expect(await elsewhere(["--home", home.homeFolder, "--repo", "shop", "get", "svc.domain"])).toBe("early\n");
    expect(await elsewhere([`--home=${home.homeFolder}`, "--no-start", "--json", "repo", "list"])).toContain(
      `"name": "shop"`,
    );
    expect(JSON.parse(await succeed(["--json", "list", "svc.domain"]))).toEqual({ svc: { domain: "early" } });
    const created = JSON.parse(await succeed(["--repo", "shop", "key", "create", "early", "--json"]));
    expect(created.grants[0].repos).toHaveLength(1);
    await succeed(["unset", "svc.domain"]);
  });

  test("--dry-run writes nothing, --atomic writes all or nothing", async () => {
    expect(await succeed(["set", "--dry-run", "svc.timeout=5"])).toBe("Would be: set svc.timeout = 5\n");
    expect(await succeed(["get", "svc.timeout"])).toBe("900\n");
    const { code } = await inFolder(["set", "--atomic", "svc.timeout=5", "svc.refresh_hour=99"]);
    expect(code).toBe(3);
    expect(await succeed(["get", "svc.timeout"])).toBe("900\n");
  });

  test("valid fields are set, and refused ones are reported on standard error, with exit code 3", async () => {
    const errorOutput = expect.stringContaining("svc.refresh_hour must be at most 23");
    const finished = await inFolder(["set", "svc.timeout=6", "svc.refresh_hour=99"]);
    expect(finished).toEqual({ code: 3, output: "Set svc.timeout = 6\n", errorOutput });
  });

  test.each([
    ["a near miss gets a suggestion", ["get", "svc.timeot"], 3, `Did you mean "svc.timeout"?`],
    ["a field without its scope too", ["get", "timeout"], 3, `Did you mean "svc.timeout"?`],
    ["one that is to be set too", ["set", "svc.timeot=1"], 3, `Did you mean "svc.timeout"?`],
    ["a near miss of a command too", ["gte", "svc.timeout"], 2, "Did you mean get?"],
    ["a command by another program's word for it", ["init"], 2, "(Did you mean repo add?)"],
    [
      "a value in braces that the shell split",
      ["set", "svc.services=a:1", "svc.services=b:2"],
      2,
      "svc.services='{...}'",
    ],
    ["a value of the wrong type", ["set", "svc.timeout=soon"], 3, "must be an integer"],
    ["an assignment without =", ["set", "svc.timeout"], 2, "FIELD=VALUE"],
    ["field and value as two words", ["set", "svc.timeout", "30"], 2, `Did you mean "svc.timeout=30"?`],
    ["spaces around the =", ["set", "svc.timeout", "=", "30"], 2, `Did you mean "svc.timeout=30"?`],
    ["a field without its scope that is to be set", ["set", "timeout=30"], 3, `Did you mean "svc.timeout"?`],
    ["a field that is called as an option", ["set", "reason=x", "svc.timeout=1"], 3, `no field "reason"`],
    ["a scope for a field", ["get", "svc"], 3, "repoconf list svc"],
    [
      "a key that is not there, in the words of commands",
      ["key", "revoke", "nope"],
      3,
      "To list all keys: repoconf key list",
    ],
    ["broken JSON", ["set", `svc.services={"web":`], 2, "is not valid JSON"],
    ["an option before a command that does not take it", ["--repo", "shop", "status"], 2, "unknown option '--repo'"],
    [
      "a repository before the command and after it",
      ["--repo", "shop", "list", "--repo", "shop"],
      2,
      "given both before and after",
    ],
    ["a choice that is none, with those there are", ["set", "svc.default_port=99999"], 3, "1 to 65535, in digits"],
    ["a repository given twice", ["list", "--repo", "shop", "--repo", "shop"], 2, "given twice"],
    ["a missing argument", ["history", "forget"], 2, "<field>\nFor more: repoconf history forget --help\n"],
    ["an option that means nothing for status", ["status", "--no-start"], 2, "unknown option"],
    ["an option that means nothing for stop", ["stop", "--no-start"], 2, "unknown option"],
    ["an option that means nothing for restart", ["restart", "--no-start"], 2, "unknown option"],
    ["an unknown option", ["get", "svc.timeout", "--jsno"], 2, "--json"],
    ["a file that is not there", ["set", "svc.domain=@none"], 2, "none"],
    ["an unknown repository", ["get", "svc.timeout", "--repo", "shpo"], 1, `Did you mean "shop"?`],
  ])("%s", async (_title, args, expected, message) => {
    await home.refuse(expected, args, message, { folder: join(folder, "src") });
  });

  test("a reader that closes the pipe early is not an error", async () => {
    const command = `"${process.execPath}" "${repoconfCommand}" describe | head -n 1`;
    const { code, output } = await runProcess("bash", ["-o", "pipefail", "-c", command], {
      environment: { REPOCONF_HOME: home.homeFolder },
    });
    expect(code).toBe(0);
    expect(output).toMatch(/^svc\.timeout\t/);
  });
});
