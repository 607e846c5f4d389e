import { spawnSync } from "node:child_process";
import { chmod, cp, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { outcomesOf } from "../helpers/command-home.ts";
import { projectFolder, repoconfCommand, runProcess, runRepoconf } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const bad = `{
  "config": {
    "svc": { "timeout": "long", "timeot": 1 },
    "build": { "jobs": 900 },
    "other": {}
  }
}
`;

/** A git work tree with its own schema and these values. */
async function makeClone(text: string) {
  const { path, [Symbol.asyncDispose]: dispose } = await temporaryFolder();
  await runProcess("git", ["init", "-q", path]);
  await mkdir(join(path, ".repoconf/scopes"), { recursive: true });
  await mkdir(join(path, "src"));
  await cp(join(projectFolder, "examples/scopes/build.schema.json"), join(path, ".repoconf/scopes/build.schema.json"));
  await writeFile(join(path, ".repoconf.json"), text);
  // Allow no writes, no other processes, and no other files, such as those of a home.
  const reads = [dirname(repoconfCommand), path].map(one => `--allow-fs-read=${one}`);
  const command = [process.execPath, "--permission", ...reads, repoconfCommand];
  return {
    path,
    /** They run there with only PATH in the environment, and with Node's permission model, which denies every write. */
    ...outcomesOf((args, { folder = path } = {}) =>
      runProcess("env", ["-i", `PATH=${process.env["PATH"]}`, ...command, ...args], { folder }),
    ),
    [Symbol.asyncDispose]: dispose,
  };
}

describe.concurrent("repoconf check", () => {
  test("reports every problem with file, line and column and exits with code 3; no home, no daemon, no write", async () => {
    await using clone = await makeClone(bad);
    expect((await clone.find(3, ["check"])).split("\n")).toEqual([
      ".repoconf.json:3:25: error: svc.timeout must be an integer, not a string; using its default.",
      '.repoconf.json:3:43: error: There is no field "svc.timeot"; its value is kept but not used.',
      ".repoconf.json:4:24: error: build.jobs must be at most 256; using its default.",
      '.repoconf.json:5:14: warning: There is no scope "other"; its values are kept but not used.',
      "",
    ]);
    expect((await readdir(clone.path)).sort()).toEqual([".git", ".repoconf", ".repoconf.json", "src"]);
  });

  test("finds the same file from a folder below it, and by the name of a file, folder or schema", async () => {
    await using clone = await makeClone(bad);
    const whole = JSON.parse(await clone.find(3, ["check", "--json"]));
    expect(whole).toHaveLength(4);
    expect(whole[0]).toEqual({
      file: ".repoconf.json",
      line: 3,
      column: 25,
      severity: "error",
      code: 1103,
      field: "svc.timeout",
      message: "svc.timeout must be an integer, not a string; using its default.",
    });
    for (const named of [".", ".repoconf.json", ".repoconf/scopes/build.schema.json"]) {
      const args = ["check", "--format", "json", named, ".repoconf.json"];
      expect(JSON.parse(await clone.find(3, args))).toEqual(whole);
    }
    const below = await clone.find(3, ["check", "--json"], { folder: join(clone.path, "src") });
    expect(JSON.parse(below)[0].file).toBe(join(clone.path, ".repoconf.json"));
  });

  test("names what a schema requires and nobody has set, also without the file", async () => {
    await using clone = await makeClone('{ "config": {} }');
    const schema = { required: ["token", "level"], properties: { token: {}, level: { default: 1 } } };
    await writeFile(join(clone.path, ".repoconf/scopes/tool.schema.json"), JSON.stringify(schema));
    const told = ".repoconf.json:1:1: warning: tool.token is required and not set.\n";
    expect(await clone.succeed(["check"])).toBe(told);
    await rm(join(clone.path, ".repoconf.json"));
    expect(await clone.find(3, ["check", "--strict"])).toBe(told);
  });

  test("accepts a valid file; warnings fail only with --strict; a byte that is not UTF-8 has its position", async () => {
    await using clone = await makeClone('{ "config": { "svc": { "timeout": 30 }, "build": { "jobs": 2 } } }\n');
    expect(await clone.succeed(["check"])).toBe("");
    await writeFile(join(clone.path, ".repoconf.json"), '{ "config": { "other": {} }, "confg": {} }');
    expect((await clone.succeed(["check"])).match(/warning/g)).toHaveLength(2);
    await clone.find(3, ["check", "--strict"]);
    await writeFile(join(clone.path, ".repoconf.json"), Buffer.from('{\n  "config": "caf\u00e9" }', "latin1"));
    expect(await clone.find(3, ["check"])).toMatch(/^\.repoconf\.json:2:17: error: it is not UTF-8 text/);
  });

  test("a broken file, a link, and a schema that cannot be used are errors at their position", async () => {
    await using clone = await makeClone('{\n  "config": {,}\n}');
    await writeFile(join(clone.path, ".repoconf/scopes/svc.schema.json"), "{}");
    await writeFile(join(clone.path, ".repoconf/scopes/torn.schema.json"), '{\n "type": }');
    const back = { type: "object", properties: { a: { type: "string", pattern: "(a", default: "a" } } };
    await writeFile(join(clone.path, ".repoconf/scopes/back.schema.json"), JSON.stringify(back));
    const output = await clone.find(3, ["check"]);
    expect(output).toMatch(
      /^\.repoconf\/scopes\/back\.schema\.json:1:63: error: .*not a valid regular expression.* \(at \/properties\/a\/pattern\)/m,
    );
    expect(output).toMatch(/^\.repoconf\.json:2:14: error: /m);
    expect(output).toMatch(/^\.repoconf\/scopes\/svc\.schema\.json:1:1: error: svc is a built-in scope/m);
    expect(output).toMatch(/^\.repoconf\/scopes\/torn\.schema\.json:2:10: error: /m);
  });

  test("follows no symbolic link, neither the file nor a schema nor the folder of schemas", async () => {
    await using clone = await makeClone('{ "config": { "build": { "jobs": 900 } } }');
    await writeFile(join(clone.path, "src/good.json"), "{}");
    await symlink("src/good.json", join(clone.path, "link.json"));
    const linked = await clone.find(3, ["check", "link.json"]);
    expect(linked).toMatch(/^link\.json:1:1: error: it is a symbolic link/);
    const schema = join(clone.path, ".repoconf/scopes/build.schema.json");
    await rename(schema, join(clone.path, "src/build.schema.json"));
    await symlink("../../src/build.schema.json", schema);
    expect((await clone.run(["check"])).output).toMatch(
      /^\.repoconf\/scopes\/build\.schema\.json:1:1: error: it is a symbolic link/,
    );
    await rm(join(clone.path, ".repoconf"), { recursive: true });
    await mkdir(join(clone.path, "src/scopes"));
    await rename(join(clone.path, "src/build.schema.json"), join(clone.path, "src/scopes/build.schema.json"));
    const notFollowed =
      /^\.repoconf\S*:1:1: error: it is a link, which is not followed, so no scopes are read from it/m;
    await symlink("src", join(clone.path, ".repoconf"));
    expect((await clone.run(["check"])).output).toMatch(/warning: There is no scope "build"/);
    expect(await clone.find(3, ["check"])).toMatch(notFollowed);
    await rm(join(clone.path, ".repoconf"));
    await mkdir(join(clone.path, ".repoconf"));
    await symlink("../src/scopes", join(clone.path, ".repoconf/scopes"));
    expect(await clone.find(3, ["check"])).toMatch(notFollowed);
  });

  test("reports more schemas, or more patterns in total, than the limits allow", async () => {
    await using clone = await makeClone("{}");
    const field = (from: number, count: number) => ({
      type: "string",
      default: "a",
      anyOf: Array.from({ length: count }, (_, index) => ({ pattern: `a|${from + index}` })),
    });
    for (let index = 0; index < 33; index++) {
      const schema = { type: "object", properties: { a: field(index * 40, 40) } };
      const name = `many${String(index).padStart(2, "0")}.schema.json`;
      await writeFile(join(clone.path, ".repoconf/scopes", name), JSON.stringify(schema));
    }
    const output = await clone.find(3, ["check"]);
    expect(output).toContain("the schemas in this folder have more than 1000 patterns in total");
    expect(output).toContain("More than 32 schemas in this folder");
    expect(output).not.toContain("many32");
  });

  test("reports schemas that have too many bytes together, and does not use them", async () => {
    await using clone = await makeClone('{ "config": { "b": { "a": 1 } } }');
    const text = JSON.stringify({ type: "object", properties: { a: { type: "integer", default: 0 } } });
    for (const name of ["a", "b"])
      await writeFile(join(clone.path, `.repoconf/scopes/${name}.schema.json`), text.padEnd(2_100_000));
    const output = await clone.find(3, ["check"]);
    expect(output).toContain(
      "b.schema.json:1:1: error: the schemas in this folder have more than 4000000 bytes in total",
    );
    expect(output).not.toContain("a.schema.json");
    expect(await clone.run(["get", "--offline", "a.a"])).toMatchObject({ code: 0, output: "0\n" });
    expect(await clone.run(["get", "--offline", "b.a"])).toMatchObject({ code: 3 });
  });

  test("each problem is a GitHub annotation, and no text in it can end it or start another one", async () => {
    const name = "50%\\n::error::x,y:\\u202e";
    await using clone = await makeClone(`{ "config": { "svc": { "${name}": 1 }, "other": {} } }`);
    await mkdir(join(clone.path, "a,b"));
    await writeFile(join(clone.path, "a,b/c:d%.json"), '{ "config": 1 }');
    const output = await clone.find(3, ["check", "--format", "github", ".", "a,b/c:d%.json"]);
    expect(output.split("\n")).toEqual([
      '::error file=.repoconf.json,line=1,col=52::There is no field "svc.50%25\\n::error::x,y:\\u202e"; its value is kept but not used.',
      '::warning file=.repoconf.json,line=1,col=66::There is no scope "other"; its values are kept but not used.',
      '::error file=a%2Cb/c%3Ad%25.json,line=1,col=13::"config" must be an object',
      "",
    ]);
    const environment = { GITHUB_WORKSPACE: clone.path };
    const below = await runRepoconf(["check", "--format", "github"], { folder: join(clone.path, "src"), environment });
    expect(below.output).toMatch(/^::error file=\.repoconf\.json,/);
  });

  test("says so if there is nothing to check; outside of git it does not search parent folders", async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, ".repoconf.json"), "{");
    await mkdir(join(folder.path, "inner"));
    const { code, output, errorOutput } = await runRepoconf(["check"], { folder: join(folder.path, "inner") });
    expect({ code, output }).toEqual({ code: 0, output: "" });
    expect(errorOutput).toContain("Nothing to check: there is no .repoconf.json");
  });
});

describe.concurrent("repoconf get --offline", () => {
  test("reads a value stored under an old name, of which check warns; a request for the old name is answered with the new one", async () => {
    await using clone = await makeClone(`{ "config": { "deploy": {\n  "jobs": 30\n} } }`);
    const workers = { type: "integer", default: 1, deprecated: true, "x-renamedFrom": "jobs" };
    const schema = JSON.stringify({ type: "object", properties: { workers } });
    await writeFile(join(clone.path, ".repoconf/scopes/deploy.schema.json"), schema);
    expect(await clone.succeed(["get", "--offline", "deploy.workers"])).toBe("30\n");
    await clone.refuse(3, ["get", "--offline", "deploy.jobs"], `It is now called "deploy.workers".`);
    expect((await clone.succeed(["check"])).split("\n")).toEqual([
      expect.stringMatching(/^\.repoconf\.json:2:11: warning: The file uses the old name "jobs" for deploy\.workers/),
      expect.stringMatching(/^\.repoconf\.json:2:11: warning: deploy\.workers is deprecated/),
      "",
    ]);
  });

  test("prints the file's value, otherwise the default; no home, no daemon, no write", async () => {
    await using clone = await makeClone(
      '{ "config": { "svc": { "timeout": 30, "envvars": [] }, "build": { "jobs": 3 } } }',
    );
    expect(await clone.succeed(["get", "--offline", "svc.timeout"])).toBe("30\n");
    const inSource = { folder: join(clone.path, "src") };
    expect(await clone.succeed(["get", "--offline", "svc.refresh_hour"], inSource)).toBe("4\n");
    expect(await clone.json(["get", "--offline", "build.jobs", "svc.domain"])).toEqual({
      "build.jobs": 3,
      "svc.domain": "",
    });
  });

  test("refuses a field whose value cannot be active, or that does not exist, and prints no default for it", async () => {
    await using clone = await makeClone(bad);
    const wrong = /\.repoconf\.json:3:25: svc\.timeout must be an integer, not a string\.\n$/;
    await clone.refuse(3, ["get", "--offline", "svc.timeout"], wrong);
    expect(await clone.succeed(["get", "--offline", "svc.domain"])).toBe("\n");
    await clone.refuse(3, ["get", "--offline", "svc.timeot"], '"svc.timeout"?');
    await clone.refuse(3, ["get", "--offline", "other.x"], ".repoconf/scopes");
    await writeFile(join(clone.path, ".repoconf.json"), "{");
    await clone.refuse(1, ["get", "--offline", "svc.domain"], "");
    await clone.refuse(2, ["get", "--offline", "svc.domain", "--repo", "x"], "");
  });

  test("without the file, prints defaults in a git work tree and nothing elsewhere", async () => {
    await using clone = await makeClone("{}");
    await rm(join(clone.path, ".repoconf.json"));
    expect(await clone.succeed(["get", "--offline", "svc.timeout"])).toBe("900\n");
    await rm(join(clone.path, ".git"), { recursive: true });
    await clone.refuse(1, ["get", "--offline", "svc.timeout"], "is not in a git work tree");
  });

  test("does not print a value that runs as a command unless the work tree's commands are trusted", async () => {
    const services = { web: { ready: "true", image: "node" } };
    await using clone = await makeClone(JSON.stringify({ config: { svc: { services } } }));
    const args = ["get", "--offline", "svc.services.web.ready"];
    await clone.refuse(3, args, "--trust-commands");
    expect(await clone.succeed([...args, "--trust-commands"])).toBe("true\n");
  });
});

describe.skipIf(process.platform === "win32")("the examples for hooks and CI", () => {
  test("the pre-commit hook rejects an invalid commit, and checks only what is staged", async () => {
    await using clone = await makeClone(bad);
    await using tools = await temporaryFolder();
    const command = join(tools.path, "repoconf");
    await writeFile(command, `#!/bin/sh\nexec "${process.execPath}" "${repoconfCommand}" "$@"\n`);
    await chmod(command, 0o755);
    const hook = join(clone.path, ".git/hooks/pre-commit");
    await cp(join(projectFolder, "examples/hooks/pre-commit"), hook);
    expect((await stat(hook)).mode & 0o100).toBe(0o100);
    const environment = { PATH: `${tools.path}${delimiter}${process.env["PATH"]}` };
    const git = (...args: readonly string[]) => {
      const who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.test", "-c", "core.hooksPath=.git/hooks"];
      return runProcess("git", [...who, ...args], { folder: clone.path, environment });
    };
    await git("add", ".");
    const refused = await git("commit", "-qm", "bad");
    expect(refused.code).toBe(1);
    expect(refused.output + refused.errorOutput).toContain(
      ".repoconf.json:4:24: error: build.jobs must be at most 256",
    );
    await writeFile(join(clone.path, ".repoconf.json"), '{ "config": { "build": { "jobs": 9 } } }\n');
    expect((await git("commit", "-qm", "still bad in the index")).code).toBe(1);
    await git("add", ".");
    await writeFile(join(clone.path, ".repoconf.json"), bad);
    expect(await git("commit", "-qm", "good in the index")).toMatchObject({ code: 0 });
    await writeFile(join(clone.path, "src/other.txt"), "other\n");
    await git("add", "src");
    expect(await git("commit", "-qm", "nothing of it")).toMatchObject({ code: 0 });
  });

  test("the workflow's step, run in a clone, reports what is wrong and fails", async () => {
    await using clone = await makeClone(bad);
    const workflow = await readFile(join(projectFolder, "examples/github/check-configuration.yml"), "utf8");
    const step = /- run: repoconf (check .*)/.exec(workflow)?.[1] ?? "";
    expect(await clone.find(3, step.split(" "))).toMatch(
      /^::error file=\.repoconf\.json,line=3,col=25::svc\.timeout must be/,
    );
  });
});

/**
 * The command that runs a program with its own mounts and without any network, as root or as any user; undefined if the system does
 * not allow it.
 */
const alone = [
  ["unshare", "--mount", "--net"],
  ["unshare", "--user", "--map-root-user", "--mount", "--net"],
].find(([command = "", ...args]) => spawnSync(command, [...args, "true"]).status === 0);

test("check and get --offline work on a read-only mount, without network, HOME and any other variable", async context => {
  context.skip(alone === undefined, "no namespaces for mounts and network");
  await using clone = await makeClone(`{ "config": { "svc": { "timeout": 30 }, "build": { "jobs": 900 } } }\n`);
  const [unshare = "", ...options] = alone ?? [];
  // A new network namespace has only a loopback device, which is down.
  const steps = [
    'mount --bind "$0" "$0"',
    'mount -o remount,ro,bind "$0"',
    'cd "$0"',
    "! touch new 2>/dev/null",
    '[ "$(grep -c : /proc/net/dev)" = 1 ]',
    'exec "$@"',
  ];
  const run = (...args: readonly string[]) => {
    const command = ["-i", process.execPath, repoconfCommand, ...args];
    return runProcess(unshare, [...options, "sh", "-c", steps.join(" && "), clone.path, "env", ...command]);
  };
  const output = ".repoconf.json:1:60: error: build.jobs must be at most 256; using its default.\n";
  expect(await run("check")).toEqual({ code: 3, output, errorOutput: "" });
  expect(await run("get", "--offline", "svc.timeout")).toEqual({ code: 0, output: "30\n", errorOutput: "" });
  expect((await readdir(clone.path)).sort()).toEqual([".git", ".repoconf", ".repoconf.json", "src"]);
});
