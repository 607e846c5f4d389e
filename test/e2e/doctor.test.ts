import { once } from "node:events";
import { chmod, cp, link, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Finding } from "../../main/cli/doctor/finding.ts";
import { checkWatchLimits } from "../../main/cli/doctor/watch-check.ts";
import { type CommandHome, makeCommandHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { git } from "../helpers/git.ts";
import { connect } from "../helpers/patient-client.ts";
import { spawnDaemon } from "../helpers/spawned-daemon.ts";

const template = await makeCommandHome();
afterAll(() => template[Symbol.asyncDispose]());
await mkdir(join(template.workFolder, "shop"));
await template.succeed(["repo", "add", "shop", "--id", "shop"]);
await template.succeed(["stop"]);

/** A copy of a home with the repository "shop", whose daemon was stopped cleanly. */
async function makeStoppedHome(): Promise<CommandHome> {
  const home = await makeCommandHome();
  await cp(template.homeFolder, home.homeFolder, { recursive: true, preserveTimestamps: true });
  // The very files, or else it would be known as a copy.
  for (const name of await readdir(join(home.homeFolder, "log"))) {
    await rm(join(home.homeFolder, "log", name));
    await link(join(template.homeFolder, "log", name), join(home.homeFolder, "log", name));
  }
  return home;
}

/** The problems and notes of `doctor --json`, and its exit code. */
async function examine(home: CommandHome): Promise<{ code: number | null; findings: Finding[] }> {
  const { code, output, errorOutput } = await home.run(["doctor", "--json"]);
  expect(errorOutput).toBe("");
  const { findings }: { findings: Finding[] } = JSON.parse(output);
  return { code, findings: findings.filter(({ result }) => result !== "good") };
}

function expectFinding(examined: Awaited<ReturnType<typeof examine>>, finding: object, code?: number): void {
  expect(examined.findings).toContainEqual(expect.objectContaining(finding));
  if (code !== undefined) expect(examined.code).toBe(code);
}

/** Starts the home's daemon and returns a client. */
async function startClient(home: CommandHome) {
  await home.succeed(["repo", "list", "--json"]);
  return connect({ home: home.homeFolder });
}

/** The first revision in a journal file, from its name. */
function revisionOf(name: string): number {
  return Number(/-(\d+)\.jsonl$/.exec(name)?.[1]);
}

function repositoryFile(home: CommandHome, id = "shop"): string {
  return join(home.homeFolder, "repos", `${id}.json`);
}

describe.concurrent("repoconf doctor", () => {
  test("finds nothing wrong with a home in use, with the daemon running and without", async () => {
    await using home = await makeCommandHome();
    await mkdir(join(home.workFolder, "shop"));
    await home.succeed(["repo", "add", "shop"]);
    const running = await examine(home);
    await home.succeed(["stop"]);
    const stopped = await examine(home);
    expect(await home.succeed(["doctor"])).toMatch(/\nNo problems found( \(1 note\))?\.\n$/);
    // Another daemon on this machine may have the preferred port.
    const others = [...stopped.findings, ...running.findings].filter(({ check }) => check !== "port");
    expect(others).toEqual([]);
    expect([stopped.code, running.code]).toEqual([0, 0]);
  });

  test("starts no daemon and changes nothing, not even what is wrong", async () => {
    await using home = await makeStoppedHome();
    await writeFile(repositoryFile(home), "{ broken");
    await chmod(join(home.homeFolder, "owner.key"), 0o644);
    const before = await snapshot(home.homeFolder);
    await home.find(1, ["doctor"]);
    expect(await snapshot(home.homeFolder)).toEqual(before);
  });

  test("a home that does not exist yet is no problem, and is not created", async () => {
    await using home = await makeCommandHome();
    const { code, findings } = await examine(home);
    expect(code).toBe(0);
    expect(findings).toMatchObject([{ check: "home", result: "note" }]);
    await expect(stat(home.homeFolder)).rejects.toThrow("ENOENT");
  });

  test.each([
    ["a home of a newer format is a problem", "format", "99\n", { check: "home", result: "problem" }],
    ["a home of an older format is only a note", "format", "0\n", { check: "home", result: "note" }],
    ["a damaged index is only a note, because it is rebuilt", "index.json", "x", { check: "index", result: "note" }],
  ] as const)("%s", async (_title, name, text, finding) => {
    await using home = await makeStoppedHome();
    await writeFile(join(home.homeFolder, name), text);
    expectFinding(await examine(home), finding, finding.result === "problem" ? 1 : 0);
  });

  test("verifies every journal across its files, and names file and line of any damage", async () => {
    await using home = await makeStoppedHome();
    // With so few revisions to keep, each file has only a few.
    await home.put("settings.json", `{ "history": { "revisions": 30 } }`);
    const folder = join(home.homeFolder, "journal");
    const client = await startClient(home);
    for (let timeout = 1; timeout <= 12; timeout += 1) await client.set("shop", { "svc.timeout": timeout });
    client.close();
    const journalOf = (findings: readonly Finding[]) => findings.filter(({ check }) => check === "journal");
    expect(journalOf((await examine(home)).findings)).toEqual([]);
    await home.succeed(["stop"]);
    const names = (await readdir(folder)).sort((one, other) => revisionOf(one) - revisionOf(other));
    expect(names.length).toBeGreaterThan(3);
    const files = names.map(name => join(folder, name));
    const [first = "", second = "", third = ""] = files;
    const texts = new Map(await Promise.all(files.map(async file => [file, await readFile(file, "utf8")] as const)));
    const damaged = async (file: string, change: (text: string) => string | undefined) => {
      const text = texts.get(file) ?? "";
      const changed = change(text);
      if (changed === undefined) await rm(file);
      else await writeFile(file, changed);
      const { code, findings } = await examine(home);
      await writeFile(file, text);
      return [code, ...journalOf(findings).map(({ result, file: at, line }) => [result, at, line])];
    };
    const lines = (text: string) => text.split("\n");
    expect(await damaged(second, text => text.replace(`"after":`, `"after":1`))).toEqual([1, ["problem", second, 3]]);
    expect(await damaged(second, () => undefined)).toEqual([1, ["problem", third, 1]]);
    expect(await damaged(second, text => lines(text).toSpliced(1, 1).join("\n"))).toEqual([1, ["problem", second, 2]]);
    expect(await damaged(first, text => lines(text).slice(1).join("\n"))).toEqual([1, ["problem", first, 1]]);
    expect(await damaged(second, text => text.slice(0, -10))).toEqual([
      1,
      ["problem", second, lines(texts.get(second) ?? "").length - 1],
      ["problem", third, 1],
    ]);
    const last = files.at(-1) ?? "";
    // A record that a crash left incomplete was never acknowledged.
    expect(await damaged(last, text => `${text}torn`)).toEqual([0, ["note", last, undefined]]);
    expect(await damaged(first, text => text)).toEqual([0]);
  });

  test("what the daemon found is a problem until it is dismissed by its id, with a daemon and without", async () => {
    await using home = await makeStoppedHome();
    const file = join(home.homeFolder, "journal/shop.0-0.jsonl");
    const client = await startClient(home);
    for (const timeout of [30, 31]) await client.set("shop", { "svc.timeout": timeout }, { flush: true });
    await client.run("file/read", { repo: "shop" });
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(`"after":30`, `"after":39`));
    await client.request("history/list", { repo: "shop" });
    client.close();
    // Only the daemon knows of it now.
    await writeFile(file, text);
    await home.succeed(["repo", "rename", "shop", "our shop"]);
    const foundIn = ({ findings }: Awaited<ReturnType<typeof examine>>) =>
      findings.filter(one => one.check === "found");
    const running = await examine(home);
    expect([running.code, foundIn(running)]).toMatchObject([
      1,
      [{ result: "problem", repo: "shop", message: expect.stringContaining(file) }],
    ]);
    const id = /--dismiss ([0-9a-f]{6})$/.exec(foundIn(running)[0]?.action ?? "")?.[1] ?? "";
    expect(await home.succeed(["status"])).toMatch(new RegExp(`^found +${id}: in our shop: .*${file}`, "m"));
    expect(foundIn(running)[0]?.message).toMatch(/^in our shop \(\/.*\/shop\): /);
    await home.succeed(["stop"]);
    expect(foundIn(await examine(home))).toEqual(foundIn(running));

    await home.refuse(3, ["doctor", "--dismiss", "0"], "To list all: repoconf status");
    expect(foundIn(await examine(home))).toHaveLength(1);
    expect(await home.succeed(["doctor", "--dismiss", id])).toBe("Dismissed 1 finding.\n");
    expect(await home.succeed(["doctor", "--dismiss", "all"])).toBe("Dismissed 0 findings.\n");
    expect(await home.succeed(["status"])).not.toContain("found");
    await home.succeed(["stop"]);
    expect(await examine(home)).toMatchObject({ code: 0 });
  });

  test("notices a history that was cut at the end of a line, or deleted, after a clean stop", async () => {
    await using home = await makeStoppedHome();
    const file = join(home.homeFolder, "journal/shop.0-0.jsonl");
    const client = await startClient(home);
    for (const timeout of [30, 31, 32]) await client.set("shop", { "svc.timeout": timeout }, { flush: true });
    client.close();
    await home.succeed(["stop"]);
    const text = await readFile(file, "utf8");
    const problems = async () => {
      const { code, findings } = await examine(home);
      return [code, ...findings.filter(({ check }) => check === "journal").map(({ message }) => message)];
    };
    expect(await problems()).toEqual([0]);
    const lines = text.split("\n");
    const last = lines.findIndex(line => line.includes(`"kind":"change","revision":4,`));
    await writeFile(file, `${lines.slice(0, last).join("\n")}\n`);
    expect(await problems()).toEqual([1, expect.stringMatching(/^the end of the history is missing: .* revision 4,/)]);
    await rm(file);
    expect(await problems()).toEqual([1, expect.stringMatching(/^the history is missing: .* revision 4,/)]);
  });

  test.skipIf(process.platform === "win32").each(["journal", "owner.key"])(
    "reports %s if it is a symbolic link",
    async name => {
      await using home = await makeStoppedHome();
      const file = join(home.homeFolder, name);
      await rename(file, join(home.workFolder, "elsewhere"));
      await symlink(join(home.workFolder, "elsewhere"), file);
      expectFinding(await examine(home), { check: "rights", result: "problem", file });
    },
  );

  test("reports files that other users may read, and how to make them private", async ({ skip }) => {
    skip(process.platform === "win32", "Windows");
    await using home = await makeStoppedHome();
    await chmod(home.homeFolder, 0o755);
    await chmod(join(home.homeFolder, "owner.key"), 0o640);
    const { findings } = await examine(home);
    const rights = findings.filter(({ check }) => check === "rights");
    expect(rights.map(({ result, action }) => [result, action])).toEqual([
      ["problem", `Restrict it: chmod 700 ${home.homeFolder}`],
      ["problem", `Restrict it: chmod 600 ${join(home.homeFolder, "owner.key")}`],
    ]);
  });

  test("a daemon that holds the home and does not answer is a problem; the daemon.json that a crash leaves is only a note", async context => {
    context.skip(process.platform === "win32", "Windows");
    await using home = await makeCommandHome();
    await using daemon = await spawnDaemon(["--port", "0"], home.homeFolder);
    daemon.process.kill("SIGSTOP");
    const action = expect.stringContaining(`${daemon.process.pid}`);
    expectFinding(await examine(home), { check: "daemon", result: "problem", action }, 1);
    await daemon.end("SIGKILL");
    expectFinding(await examine(home), { check: "daemon", result: "note" }, 0);
    await home.refuse(4, ["status"], "the last one was killed, or crashed. Acknowledged changes are on disk. Start");
  });

  test("that a home was copied is a note; without a daemon, a list of findings that cannot be read is a problem", async () => {
    await using home = await makeCommandHome();
    await cp(template.homeFolder, home.homeFolder, { recursive: true, preserveTimestamps: true });
    await home.succeed(["repo", "list"]);
    const note = { check: "found", result: "note", message: expect.stringMatching(/^This home was copied: /) };
    expectFinding(await examine(home), note, 0);
    await home.succeed(["stop"]);
    expectFinding(await examine(home), note, 0);
    await home.put("findings.json", "{");
    await writeFile(repositoryFile(home), `{ "name": "shop" }`);
    const found = await examine(home);
    expectFinding(found, { check: "found", result: "problem", file: join(home.homeFolder, "findings.json") }, 1);
    expectFinding(found, { check: "index", message: "1 file differs from the index" });
  });

  test("a preferred port that another program uses is only a note", async () => {
    await using home = await makeStoppedHome();
    const stranger = createServer().listen(0, "127.0.0.1");
    await once(stranger, "listening");
    const address = stranger.address();
    const port = typeof address === "object" ? address?.port : undefined;
    await home.put("settings.json", { port });
    const message = expect.stringContaining(`${port}`);
    expectFinding(await examine(home), { check: "port", result: "note", message }, 0);
    stranger.close();
  });

  test("reports why tools cannot reach the daemon over the Unix socket", async ({ skip }) => {
    skip(process.platform === "win32", "Windows");
    await using home = await makeCommandHome();
    const long = join(home.workFolder, "h".repeat(120));
    const inLong = { environment: { REPOCONF_HOME: long } };
    await home.run(["repo", "list"], inLong);
    const { output } = await home.run(["doctor", "--json"], inLong);
    await home.run(["stop"], inLong);
    const finding = { check: "socket", result: "note", message: expect.stringMatching(/would be \d+ bytes long/) };
    expect(JSON.parse(output).findings).toContainEqual(expect.objectContaining(finding));

    await home.succeed(["repo", "list", "--json"]);
    await rm(join(home.homeFolder, "socket"), { recursive: true });
    const removed = expect.stringContaining("it was removed");
    expectFinding(await examine(home), { check: "socket", result: "note", message: removed });
  });

  test("reports broken settings, an invalid owner's key, invalid named keys, and each broken scope file with its reason", async () => {
    await using home = await makeStoppedHome();
    await home.put("settings.json", `{\n  "port": 80,\n}\n`);
    await home.put("scopes/one.schema.json", "{ ");
    await home.put("scopes/two.schema.json", {
      type: "object",
      properties: { jobs: { type: "number" }, a: { type: 1 } },
    });
    await writeFile(join(home.homeFolder, "owner.key"), "secret\n", { mode: 0o600 });
    await writeFile(join(home.homeFolder, "keys.json"), "[]\n", { mode: 0o600 });
    const examined = await examine(home);
    const { findings } = examined;
    expectFinding(examined, { check: "settings", result: "problem", line: 3, column: 1 });
    const keys = findings.filter(({ check }) => check === "keys");
    expect(keys).toMatchObject([{ result: "problem" }, { result: "problem" }]);
    const reasons = findings.filter(({ check }) => check === "scopes").map(({ message }) => message);
    expect(reasons).toEqual([
      expect.stringMatching(/one\.schema\.json, line 1/),
      expect.stringMatching(/two\.schema\.json, line 1, column 69, at \/properties\/a\/type: the field "a": type at /),
    ]);
  });

  test("reports where a repository's file does not parse, and what to do", async () => {
    await using home = await makeStoppedHome();
    await writeFile(repositoryFile(home), `{\n  "name": "shop",\n  "config" {}\n}\n`);
    const output = await home.find(1, ["doctor"]);
    expect(output).toContain(`problem\trepositories\t${repositoryFile(home)}:3:12: a colon is missing\t`);
    expect(output).toContain("repoconf repo remove shop");
    expect(output.endsWith("\n1 problem, 1 note.\n") || output.endsWith("\n1 problem, 2 notes.\n")).toBe(true);
  });

  test("checks each field against its schema, and reports unknown fields, wrong shapes and duplicate names", async () => {
    await using home = await makeStoppedHome();
    await writeFile(
      repositoryFile(home),
      `{\n  "name": "twin",\n  "nme": "x",\n  "config": { "svc": {\n    "timeout": "long",\n    "timeot": 1,\n    "default": "web"\n  }, "old": {} }\n}\n`,
    );
    await writeFile(repositoryFile(home, "other"), `{ "name": "twin", "config": [] }`);
    await writeFile(repositoryFile(home, "third"), `{ "name": "twin", "config": {} }`);
    await writeFile(repositoryFile(home, "not.an.id"), `{}`);
    const { findings } = await examine(home);
    const lines = findings
      .filter(({ check }) => check === "repositories")
      .map(({ result, repo, line, message }) => `${result} ${repo ?? ""}:${line ?? ""} ${message}`);
    expect(lines).toEqual([
      expect.stringContaining("note : this is not a valid repository file name"),
      `problem other:1 "config" must be an object`,
      expect.stringContaining(`note shop:3 "nme"`),
      expect.stringContaining("problem shop:5 svc.timeout must be an integer"),
      expect.stringContaining(`problem shop:7 svc.default refers to "web"`),
      expect.stringContaining(`note shop:6 There is no field "svc.timeot"`),
      expect.stringContaining(`note shop:8 There is no scope "old"`),
      expect.stringContaining(`note : 3 are called "twin"`),
    ]);
  });

  test("tells an in-tree file that is a link and folders that are gone or others, and tidies nothing up there", async context => {
    context.skip(process.platform === "win32", "Windows");
    await using home = await makeCommandHome();
    for (const id of ["linked", "moved", "other"]) {
      await mkdir(join(home.workFolder, id));
      await home.succeed(["repo", "add", id, "--id", id, "--in-tree"]);
    }
    await home.succeed(["set", "svc.timeout=30", "--repo", "other"]);
    await home.succeed(["stop"]);
    // The temporary file of a daemon that is writing.
    const writing = join(home.workFolder, "linked", ".repoconf.json.0123456789ab.tmp");
    await writeFile(writing, "{}");
    const tree = join(home.workFolder, "linked", ".repoconf.json");
    const moved = repositoryFile(home, "moved");
    await symlink(moved, tree);
    await rm(join(home.workFolder, "moved"), { recursive: true });
    await rename(join(home.workFolder, "other"), join(home.workFolder, "elsewhere"));
    await mkdir(join(home.workFolder, "other"));
    const other = { result: "problem", repo: "other", message: expect.stringContaining("another folder") };
    const { findings } = await examine(home);
    const problems = findings.filter(({ result }) => result === "problem");
    expect(problems).toMatchObject([
      { repo: "linked", file: tree, message: expect.stringContaining("link") },
      { repo: "moved", file: moved, message: expect.stringContaining("does not exist, so its values") },
      other,
    ]);
    expect(await readFile(writing, "utf8")).toBe("{}");
    await home.succeed(["repo", "list"]);
    expectFinding(await examine(home), other, 1);
  });

  test("tells a work tree's folder that is another one than before and has no file, with a daemon and without", async context => {
    context.skip(process.platform === "win32", "Windows");
    await using home = await makeCommandHome();
    const folder = join(home.workFolder, "site");
    await mkdir(folder);
    await using daemon = await spawnDaemon(["--port", "0"], home.homeFolder);
    await home.succeed(["repo", "add", folder, "--id", "site", "--in-tree"]);
    await home.succeed(["set", "svc.timeout=30", "--repo", "site"]);
    await daemon.end("SIGKILL");
    await rename(folder, `${folder}-elsewhere`);
    await mkdir(folder);
    const found = {
      repo: "site",
      file: repositoryFile(home, "site"),
      message: expect.stringContaining("another folder"),
    };
    expectFinding(await examine(home), { result: "problem", ...found }, 1);
    await home.succeed(["repo", "list"]);
    expectFinding(await examine(home), { result: "problem", ...found }, 1);
    await home.succeed(["repo", "move", "site", folder]);
    await until(async () => (await examine(home)).code === 0, "the folder to be the right one");
  });

  test("names another home that uses the same in-tree file, until one of them removes the repository", async () => {
    await using one = await makeCommandHome();
    await using other = await makeCommandHome();
    const tree = join(one.workFolder, "tree");
    await mkdir(tree);
    await git(tree, "init", "--quiet");
    const findingsOf = async (home: CommandHome) =>
      (await examine(home)).findings.filter(finding => finding.check === "repositories");
    await one.succeed(["repo", "add", tree, "--id", "tree", "--in-tree"]);
    expect(await findingsOf(one)).toEqual([]);
    await other.succeed(["repo", "add", tree, "--id", "shared", "--in-tree"]);
    const isNamed = async (home: CommandHome, id: string, another: CommandHome) => {
      await until(async () => (await findingsOf(home)).length > 0, "the other home to be named");
      const message = expect.stringContaining(another.homeFolder);
      const action = expect.stringContaining(`repoconf repo remove ${id}`);
      expect(await findingsOf(home)).toMatchObject([{ result: "problem", repo: id, message, action }]);
    };
    await isNamed(one, "tree", other);
    await isNamed(other, "shared", one);
    await other.succeed(["repo", "remove", "shared", "--yes"]);
    expect(await findingsOf(one)).toEqual([]);
    expect(await findingsOf(other)).toEqual([]);
  });

  test("a file deleted by hand is a problem, the missing file of a removed repository is not", async () => {
    await using home = await makeStoppedHome();
    await rm(repositoryFile(home));
    const { findings } = await examine(home);
    const [finding] = findings.filter(({ result }) => result === "problem");
    expect(finding).toMatchObject({ repo: "shop", message: "the file is missing" });
    // Its values are known only to a running daemon.
    expect(finding?.action).not.toContain("--rewrite");
    await home.succeed(["repo", "remove", "shop", "--yes"]);
    expect((await examine(home)).code).toBe(0);
  });
});

test.concurrent("repoconf doctor --rewrite writes a deleted file again from the daemon's values, never replaces one, and without a daemon says where else to look", async () => {
  await using home = await makeStoppedHome();
  await home.succeed(["set", "--repo", "shop", "svc.timeout=30"]);
  await rm(repositoryFile(home));
  const [finding] = (await examine(home)).findings.filter(({ result }) => result === "problem");
  expect(finding?.action).toContain("repoconf doctor --rewrite shop");
  // The command must use the owner's key and not this one, which could not read all values.
  const environment = { REPOCONF_API_KEY: "repoconf_of_somebody_else" };
  await home.succeed(["doctor", "--rewrite", "shop"], { environment });
  expect(JSON.parse(await readFile(repositoryFile(home), "utf8"))).toEqual({
    $schema: "../repository.schema.json",
    name: "shop",
    path: join(template.workFolder, "shop"),
    config: { svc: { timeout: 30 } },
  });
  const problems = (await examine(home)).findings.filter(({ result }) => result === "problem");
  expect(problems).toEqual([]);
  await home.succeed(["set", "--repo", "shop", "svc.timeout=31"]);
  await writeFile(repositoryFile(home), "{ broken");
  await home.refuse(1, ["doctor", "--rewrite", "shop"], "Nothing was written");
  expect(await readFile(repositoryFile(home), "utf8")).toBe("{ broken");
  await home.succeed(["stop"]);
  await rm(repositoryFile(home));
  await home.refuse(4, ["doctor", "--rewrite", "shop"], join(home.homeFolder, "removed"));
  expect(await readdir(join(home.homeFolder, "repos"))).toEqual([]);
});

describe("the limits on watching", () => {
  test("distinguishes enough, barely enough, and too few file watches", () => {
    expect(checkWatchLimits(8_192, 128, 3).result).toBe("good");
    expect(checkWatchLimits(5, 128, 3).result).toBe("note");
    const action = expect.stringContaining("max_user_watches=");
    expect(checkWatchLimits(2, 128, 3)).toMatchObject({ result: "problem", action });
    expect(checkWatchLimits(8_192, 0, 3).result).toBe("problem");
  });
});

/** The text, mode and modification time of every file, by path. */
async function snapshot(folder: string): Promise<Record<string, unknown>> {
  const files: Record<string, unknown> = {};
  for (const name of await readdir(folder, { recursive: true })) {
    const path = join(folder, name);
    const stats = await stat(path);
    files[name] = [stats.mode, stats.mtimeMs, stats.isFile() ? await readFile(path, "utf8") : ""];
  }
  return files;
}
