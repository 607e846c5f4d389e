import { cp, mkdir, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { valueIn } from "../../main/git/git-config.ts";
import { moveIn } from "../../main/git/work-tree.ts";
import { connectClient, type TestClient, until } from "../helpers/daemon.ts";
import { canMountDeadDisk, endDeadDisk, onDeadDisk } from "../helpers/dead-disk.ts";
import { hostileEntries, secret } from "../helpers/hostile-entries.ts";
import { amount, reportPromise, seed, torture } from "../helpers/promise.ts";
import { randomNumbers } from "../helpers/random.ts";
import { repoconfCommand, runRepoconf, spawnDaemon } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

async function makeWorkTree(folder: string): Promise<string> {
  await mkdir(join(folder, ".git"), { recursive: true });
  await writeFile(join(folder, ".git", "HEAD"), "ref: refs/heads/main\n");
  await writeFile(join(folder, ".repoconf.json"), `{ "config": { "svc": { "timeout": 30 } } }\n`);
  return folder;
}

function setTimeoutOf(client: TestClient, repo: string, timeout: number) {
  return client.call("config/set", { repo, "svc.timeout": timeout, flush: true });
}

test("a disk that does not answer keeps its own repositories from being read until it answers, and no others", async context => {
  context.skip(!canMountDeadDisk(), "no disk that does not answer can be mounted");
  await using work = await temporaryFolder();
  await using home = await temporaryFolder();
  const disk = join(work.path, "disk");
  const holder = join(work.path, "holder");
  const far = ["a", "b", "c", "d", "e"];
  {
    await using daemon = await spawnDaemon(["--port", "0"], home.path);
    const client = await connectClient(daemon.url, daemon.ownerKey);
    const add = (id: string, path: string) => client.call("repo/add", { id, name: id, path, inTree: true });
    for (const id of far) await add(id, await makeWorkTree(join(disk, id)));
    await add("near", await makeWorkTree(join(work.path, "near")));
    await client.call("repo/add", { id: "home", name: "home" });
    for (const id of far) expect((await setTimeoutOf(client, id, 31)).errors).toEqual([]);
    client.socket.close();
    expect(await daemon.end("SIGTERM")).toBe(0);
  }
  const start = () => spawnDaemon(["--port", "0"], home.path, [], repoconfCommand, onDeadDisk(disk, holder));
  {
    await using daemon = await start();
    const client = await connectClient(daemon.url, daemon.ownerKey);
    const refused = await Promise.all(far.map(id => setTimeoutOf(client, id, 32)));
    expect(refused.map(({ errors: [error] }) => error?.code)).toEqual(far.map(() => 1106));
    for (const id of ["near", "home"]) expect((await setTimeoutOf(client, id, 33)).errors).toEqual([]);
    for (const repo of far)
      expect((await client.call("config/list", { repo })).result["svc"]).toMatchObject({ timeout: 31 });
    const { result } = await client.call("repo/list");
    const { health } = result.find(({ id }) => id === "a") ?? {};
    expect(health).toMatchObject([{ code: 1106, message: expect.stringContaining(`${disk} has not answered`) }]);
    endDeadDisk(disk, holder, daemon.process.pid ?? 0);
    // The calls that hung end one after the other.
    for (const id of far)
      await until(async () => (await setTimeoutOf(client, id, 34)).errors.length === 0, `the disk of ${id}`);
    client.socket.close();
    expect(await daemon.end("SIGTERM")).toBe(0);
  }
  {
    await using daemon = await start();
    const client = await connectClient(daemon.url, daemon.ownerKey);
    await setTimeoutOf(client, "a", 35);
    client.socket.close();
    // Node's own exit would wait for the call.
    expect(await daemon.end("SIGTERM")).toBe(null);
    expect(daemon.process.signalCode).toBe("SIGKILL");
    endDeadDisk(disk, holder, 0);
  }
});

/** Files that are read in a work tree and its git folder. Together, because four hanging calls once used up all threads. */
const places: { readonly [place: string]: readonly string[] } = {
  "the in-tree file": [".repoconf.json"],
  "the marks of homes": ["0", "1", "2", "3"].map(digit => `.git/repoconf-home.${digit.repeat(12)}`),
  "the configuration of git": [".git/config"],
  "the head of git": [".git/HEAD"],
  "the .git file": [".git"],
  "the common folder of a linked worktree": ["git/commondir"],
  "the folder of a linked worktree": ["git/gitdir"],
  "a schema": [".repoconf/scopes/team.schema.json"],
  "the folder of the schemas": [".repoconf"],
  "the schema for editors": [".repoconf/schema.json"],
};

async function makeHostile(folder: string, place: string, kind: string): Promise<string> {
  await makeWorkTree(folder);
  if (place.endsWith("of a linked worktree")) {
    await rm(join(folder, ".git"), { recursive: true });
    await writeFile(join(folder, ".git"), "gitdir: git\n");
    await mkdir(join(folder, "git"));
    await writeFile(join(folder, "git", "HEAD"), "ref: refs/heads/main\n");
  }
  for (const name of places[place] ?? []) {
    const path = join(folder, name);
    await rm(path, { recursive: true, force: true });
    await mkdir(dirname(path), { recursive: true });
    await hostileEntries[kind]?.(path);
  }
  return folder;
}

/** Pairs of place and kind in a random order, after one that once blocked the reader: all of them in the full form. */
function shuffledPairs(places: readonly string[], first: string, count: number) {
  const random = randomNumbers(seed);
  const pairs = places.flatMap(place => Object.keys(hostileEntries).map(kind => [place, kind] as const));
  const placed = pairs.map(pair => ({ pair, at: random(1_000_000) }));
  const shuffled = placed.sort((one, other) => one.at - other.at).map(({ pair }) => pair);
  return [[first, "a pipe"] as const, ...shuffled].slice(0, amount(count, Number.POSITIVE_INFINITY));
}

test("whatever stands in place of the files of a work tree, the daemon answers, stops and starts again", async context => {
  context.skip(process.platform === "win32", "Windows");
  await using work = await temporaryFolder();
  await using home = await temporaryFolder();
  const folder = await realpath(work.path);
  const pairs = shuffledPairs(Object.keys(places), "the marks of homes", 16);
  let longest = 0;
  for (const round of ["added", "started"]) {
    await using daemon = await spawnDaemon(["--port", "0"], home.path);
    const client = await connectClient(daemon.url, daemon.ownerKey);
    if (round === "added") await client.call("repo/add", { id: "other", name: "other" });
    for (const [index, [place, kind]] of pairs.entries()) {
      const id = `r${index}`;
      if (round === "added") {
        const path = await makeHostile(join(folder, id), place, kind);
        await client.call("repo/add", { id, name: id, path, inTree: true });
      }
      const hostile = setTimeoutOf(client, id, index + 31);
      const began = performance.now();
      expect((await setTimeoutOf(client, "other", index + 31)).errors).toEqual([]);
      longest = Math.max(longest, performance.now() - began);
      await hostile;
      const answers = [await client.call("config/list", { repo: id }), await client.call("file/read", { repo: id })];
      expect(JSON.stringify(answers), `${place}: ${kind}`).not.toContain(secret);
    }
    client.socket.close();
    if (process.platform === "linux") {
      const status = await readFile(`/proc/${daemon.process.pid}/status`, "utf8");
      expect(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1])).toBeLessThan(512 * 1024);
    }
    expect(await daemon.end("SIGTERM")).toBe(0);
  }
  if (!torture) return;
  const note = `kinds of entries in the places of files; another repository was answered within ${Math.ceil(longest)} ms`;
  reportPromise({ row: "S18", tried: pairs.length * 2, failed: longest < 100 ? 0 : 1, note });
  expect(longest).toBeLessThan(100);
});

test("whatever stands in place of the files of a work tree, commands without a daemon end and show none of it", async context => {
  context.skip(process.platform === "win32", "Windows");
  await using work = await temporaryFolder();
  const folder = await realpath(work.path);
  const ways = [["get", "svc.timeout", "--offline"], ["check"], ["schema", "--write"]];
  const pairs = shuffledPairs(Object.keys(places), "the common folder of a linked worktree", 5);
  for (const [index, [place, kind]] of pairs.entries()) {
    const path = await makeHostile(join(folder, `r${index}`), place, kind);
    for (const args of ways) {
      const { code, output, errorOutput } = await runRepoconf(args, {
        folder: path,
        environment: { REPOCONF_HOME: join(folder, "home") },
      });
      expect([0, 1, 2, 3], `${args.join(" ")} with ${kind} in place of ${place}: ${errorOutput}`).toContain(code);
      expect(output + errorOutput).not.toContain(secret);
    }
  }
});

/** In a home, which may have been copied or unpacked from anywhere; `*` stands for the only file in the folder. */
const homePlaces = [
  ...["clean-stop", "restore.json", "daemon.log", "audit.log", "daemon.json", "format", "index.json", "settings.json"],
  ...["findings.json", "drafts.json", "trust.json", "keys.json", "owner.key", "lock", "reserve"],
  ...["log", "journal", "repos", "scopes", "removed", "tmp", "log/*", "journal/*", "repos/*"],
  ...["scopes/team.schema.json", "tmp/start-progress.json"],
];

test("whatever stands in place of the files of a home, each command ends, and the daemon runs or says which file it is", {
  timeout: amount(120_000, 1_800_000),
}, async context => {
  context.skip(process.platform === "win32", "Windows");
  await using work = await temporaryFolder();
  const folder = await realpath(work.path);
  const run = async (home: string, ...args: string[]) => {
    const { code, output, errorOutput } = await runRepoconf(args, { folder, environment: { REPOCONF_HOME: home } });
    return { code, text: output + errorOutput };
  };
  const whole = join(folder, "whole");
  const added = await run(whole, "repo", "add", await makeWorkTree(join(folder, "shop")), "--in-home");
  expect(added.text).toContain("Added shop");
  expect((await run(whole, "set", "svc.timeout=30", "--repo", "shop")).code).toBe(0);
  await run(whole, "stop");
  for (const [index, [place, kind]] of shuffledPairs(homePlaces, "log/*", 4).entries()) {
    const home = join(folder, `home${index}`);
    await cp(whole, home, { recursive: true });
    const name = place.endsWith("/*")
      ? join(dirname(place), (await readdir(join(home, dirname(place))))[0] ?? "")
      : place;
    await rm(join(home, name), { recursive: true, force: true });
    await hostileEntries[kind]?.(join(home, name));
    const what = `${kind} in place of ${name}`;
    const listed = await run(home, "list", "--repo", "shop");
    if (listed.code !== 0) expect(listed.text, what).toContain(join(home, name));
    const doctor = await run(home, "doctor");
    expect([0, 1], `${what}: ${doctor.text}`).toContain(doctor.code);
    if (listed.code !== 0) expect(doctor.text, what).toContain(join(home, name));
    expect(listed.text + doctor.text).not.toContain(secret);
    expect((await run(home, "stop")).code, what).toBe(listed.code === 0 ? 0 : 4);
  }
});

test("a mark is not written through a link or into a pipe that has its name", async () => {
  await using work = await temporaryFolder();
  const tree = await makeWorkTree(join(await realpath(work.path), "tree"));
  const pointer = join(await realpath(work.path), "pointer.json");
  await writeFile(pointer, "{}");
  await moveIn(tree, pointer);
  const [mark = ""] = (await readdir(join(tree, ".git"))).filter(name => name.startsWith("repoconf-home."));
  const path = join(tree, ".git", mark);
  expect(await readFile(path, "utf8")).toBe(`${pointer}\n`);
  for (const kind of ["a link to a key", "a link to an endless device", "a pipe"]) {
    await rm(path);
    await hostileEntries[kind]?.(path);
    await moveIn(tree, pointer);
    expect(await readFile(path, "utf8")).toBe(`${pointer}\n`);
    expect(await readFile(`${path}.key`, "utf8")).toBe(secret);
  }
});

test("a configuration of git made to be slow is read in proportion to its length", () => {
  const many = " ".repeat(1_000_000);
  for (const line of [
    `url =${many}x"`,
    `[remote "origin"${many}x`,
    `[remote "${"\\".repeat(1_000_000)}`,
    `url = "${many}`,
  ])
    expect(valueIn(`[remote "origin"]\n${line}\n`, "remote", "origin", "url")).toBe(undefined);
});
