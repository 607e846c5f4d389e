import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { addRepositories, type CommandHome, makeCommandHome, makeServedHome } from "../helpers/command-home.ts";

const home = await makeServedHome();
afterAll(() => home[Symbol.asyncDispose]());
const folder = join(home.workFolder, "shop");
await mkdir(folder, { recursive: true });
execFileSync("git", ["init", "-q", folder]);
await writeFile(join(folder, ".repoconf.json"), JSON.stringify({ config: { svc: { timeout: 30 } } }));
await home.succeed(["repo", "add", "--in-tree"], { folder });

const run = (...args: readonly string[]) => home.run(args, { folder });
const succeed = (...args: readonly string[]) => home.succeed(args, { folder });
const inTree = async () => JSON.parse(await readFile(join(folder, ".repoconf.json"), "utf8")).config.svc;

test("commands say where they wrote and what counts, and a private value stays out of the work tree", async () => {
  expect(await succeed("set", "svc.timeout=5", "--local")).toBe("Set svc.timeout = 5 (local)\n");
  expect(await succeed("set", "svc.timeout=6")).toBe("Set svc.timeout = 6 (local)\n");
  expect(await succeed("set", "svc.timeout=40", "--shared")).toBe(
    "Set svc.timeout = 40 (shared; your local value still counts)\n",
  );
  expect(await succeed("get", "svc.timeout")).toBe("6\n");
  expect(await inTree()).toEqual({ timeout: 40 });
  const explained = await succeed("explain", "svc.timeout");
  expect(explained).toMatch(/comes from {2}.*local.\w+\.json:\d+:\d+ \(local\)/);
  expect(explained).toMatch(/beneath {5}40 \(shared, .*\.repoconf\.json:1:\d+\)/);
  expect(await succeed("history", "--limit", "2")).toMatch(
    /revision 4 {2}by owner[\s\S]*revision 3 {2}\(local\) {2}by owner/,
  );
  expect(JSON.parse(await succeed("export"))).toEqual({ svc: { timeout: 6 } });
  expect(JSON.parse(await succeed("export", "--shared"))).toEqual({ svc: { timeout: 40 } });
  expect(JSON.parse(await succeed("export", "--local"))).toEqual({ svc: { timeout: 6 } });
  await succeed("undo");
  expect([await inTree(), await succeed("get", "svc.timeout")]).toEqual([{ timeout: 30 }, "6\n"]);
  expect(await succeed("unset", "svc.timeout")).toBe("Unset (local); now svc.timeout = 30\n");
  await succeed("undo");
  expect([await inTree(), await succeed("get", "svc.timeout")]).toEqual([{ timeout: 30 }, "6\n"]);
  expect(await succeed("get", "svc.timeout", "--offline")).toBe("30\n");
  const both = await run("set", "svc.timeout=5", "--local", "--shared");
  expect(both).toMatchObject({ code: 2, errorOutput: expect.stringContaining("not both") });
});

test("edit opens and writes the layer that is named, so that no local value gets into the work tree", async () => {
  await writeFile(join(folder, ".repoconf.json"), JSON.stringify({ config: { svc: { timeout: 30 } } }));
  const secret = "only-here";
  await succeed("set", `svc.domain=${secret}.test`, `svc.envvars.TOKEN=${secret}`, "--local");
  const text = join(home.workFolder, "opened");
  /** What the editor is shown, after it has appended to it; it gives up at a refusal. */
  const edit = async (change: string, ...args: readonly string[]) => {
    await writeFile(text, "");
    const script = join(home.workFolder, "editor");
    await writeFile(script, `#!/bin/sh\ncat "$1" > '${text}'\n${change}\n`, { mode: 0o700 });
    const environment = { EDITOR: `'${script}'`, VISUAL: "" };
    const { code, output, errorOutput } = await home.run(["edit", ...args], { folder, environment });
    return { code, told: output + errorOutput, opened: await readFile(text, "utf8") };
  };
  expect(await edit(`echo team.test > "$1"`, "svc.domain", "--shared")).toMatchObject({ code: 0, opened: "\n" });
  expect(await edit(`echo '[{"name":"MODE","value":"dev"}]' > "$1"`, "svc.envvars", "--shared")).toMatchObject({
    opened: "[]\n",
  });
  expect((await edit("true", "svc.envvars.TOKEN", "--shared")).told).toContain("no value at svc.envvars.TOKEN");
  const shared = { timeout: 30, domain: "team.test", envvars: [{ name: "MODE", value: "dev" }] };
  expect(await inTree()).toEqual(shared);
  expect((await edit(`echo x.${secret}.test > "$1"`, "svc.domain")).opened).toBe(`${secret}.test\n`);
  expect(await edit(`echo y.${secret}.test > "$1"`, "svc.domain", "--local")).toMatchObject({
    opened: `x.${secret}.test\n`,
  });
  expect((await edit("true", "svc.envvars", "--local")).opened).toContain(secret);
  for (const args of [[], ["--shared"]]) {
    const whole = await edit(`sed -i 's/:30/:31/' "$1"`, ...args);
    expect([whole.code, whole.opened.includes(secret)]).toEqual([0, false]);
    await succeed("set", "svc.timeout=30", "--shared");
  }
  expect((await edit(`sed -i 's/y\\./z./' "$1"`, "--local")).opened).toContain(`y.${secret}`);
  expect([await inTree(), await succeed("get", "svc.domain")]).toEqual([shared, `z.${secret}.test\n`]);
  for (const layer of ["--local", "--shared"]) await succeed("unset", "svc.domain", "svc.envvars", layer);
});

test("import into a work tree's repository imports local values, unless --shared", async () => {
  await writeFile(join(folder, "own.json"), JSON.stringify({ svc: { domain: "mine.test" } }));
  const imported = await succeed("import", "own.json", "--yes");
  expect(imported).toContain("As local values, which only this machine has:");
  expect(imported).toContain("as local values, revision");
  expect(await inTree()).toEqual({ timeout: 30 });
  expect(await succeed("get", "svc.domain")).toBe("mine.test\n");
  await writeFile(join(folder, "ours.json"), JSON.stringify({ svc: { domain: "ours.test" } }));
  await succeed("import", "ours.json", "--yes", "--shared");
  expect([await inTree(), await succeed("get", "svc.domain")]).toEqual([
    { timeout: 30, domain: "ours.test" },
    "mine.test\n",
  ]);
});

test("undo takes back the last change of the layer that is named, or says that there is none", async () => {
  const other = join(home.workFolder, "undo");
  await mkdir(other);
  const here = (...args: readonly string[]) => home.succeed(args, { folder: other });
  const fails = async (...args: readonly string[]) => (await home.run(args, { folder: other })).errorOutput;
  const values = async () => JSON.parse(await here("export"));
  await here("repo", "add", ".");
  expect(await fails("undo", "--local")).toContain("no changes of local values");
  await here("set", "svc.timeout=30", "--shared");
  await here("set", "svc.domain=a.test", "--local");
  expect(await here("undo", "--shared")).toContain("Undid revision 2");
  expect(await values()).toEqual({ svc: { domain: "a.test" } });
  await here("set", "svc.timeout=40", "--shared");
  expect(await here("undo", "--local")).toContain("Undid revision 3");
  expect(await values()).toEqual({ svc: { timeout: 40 } });
  expect(await here("undo", "--local", "--dry-run")).toContain("Would undo revision 6");
  // One change of both layers is undone as one.
  await here("set", "svc.timeout=5", "--local");
  await here("set", "svc.timeout=6", "svc.domain=b.test");
  expect(await values()).toEqual({ svc: { timeout: 6, domain: "b.test" } });
  expect(await here("history", "--limit", "2")).toMatch(
    /^\S+ {2}revisions \d+ and \d+ {2}by owner \(set\)\n {2}svc\.domain: .*\n {2}svc\.timeout: .* {2}\(local\)\n$/,
  );
  expect(await here("history", "svc.domain", "--limit", "1")).toMatch(
    /revision \d+, one change with revision \d+ {2}by/,
  );
  for (const expected of [{ timeout: 5 }, { timeout: 6, domain: "b.test" }, { timeout: 5 }]) {
    expect(await here("undo")).toMatch(/^Undid revisions \d+ and \d+ of/);
    expect(await values()).toEqual({ svc: expected });
  }
  expect(await here("undo", "--local")).toMatch(/^Undid revision \d+ of/);
  expect(await values()).toEqual({ svc: { timeout: 6 } });
});

test("a merge, a move, a restore, a backup and what was removed keep local values local", async () => {
  const secret = "never-shared";
  await addRepositories(home, "one", "two");
  const set = (repo: string, ...args: readonly string[]) => home.succeed(["set", "--repo", repo, ...args]);
  const sharedOf = (repo: string, { homeFolder }: CommandHome = home) =>
    readFile(join(homeFolder, "repos", `${repo}.json`), "utf8");
  await set("one", `svc.domain=${secret}.test`, `svc.envvars.TOKEN=${secret}`, "svc.timeout=5", "--local");
  await set("one", "svc.timeout=30", "svc.envvars.MODE=dev", "--shared");
  await set("two", "svc.timeout=40", "--shared");
  const { errorOutput: told } = await home.run(["repo", "merge", "one", "two", "--yes"]);
  expect(told).toContain("gets: svc.envvars, svc.domain (local), svc.timeout (local), svc.envvars (local)\n");
  expect(told).toContain("keeps its own value of: svc.timeout\n");
  expect(await sharedOf("two")).toContain("MODE");
  const own = { domain: `${secret}.test`, timeout: 5, envvars: [{ name: "TOKEN", value: secret }] };
  const exported = async (served = home) =>
    JSON.parse(await served.succeed(["export", "--repo", "two", "--local", "--reveal"]));
  expect(await exported()).toEqual({ svc: own });
  await home.succeed(["repo", "add", join(home.workFolder, "one"), "--id", "one"]);
  expect(JSON.parse(await home.succeed(["export", "--repo", "one"]))).toEqual({});
  await home.succeed(["repo", "move", "two", home.workFolder]);
  await home.succeed(["undo", "--repo", "two", "--local"]);
  await home.succeed(["undo", "--repo", "two", "--local"]);
  await home.succeed(["restore", "--repo", "two", "2"]);
  await home.succeed(["undo", "--repo", "two", "--to", "4", "--yes"]);
  for (const repo of ["one", "two"]) expect(await sharedOf(repo)).not.toContain(secret);
  expect(await exported()).toEqual({ svc: own });
  const archive = join(home.workFolder, "backup.tar.gz");
  await home.succeed(["backup", archive]);
  await using restored = await makeCommandHome();
  await restored.succeed(["backup", "--restore", archive, "--yes"]);
  expect(await exported(restored)).toEqual({ svc: own });
  await restored.succeed(["set", "--repo", "two", "svc.timeout=41", "--shared"]);
  expect(await sharedOf("two", restored)).not.toContain(secret);
});
