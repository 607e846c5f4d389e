import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { addShop, type CommandHome, makeCommandHome, makeShop } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { runRepoconf, spawnDaemon } from "../helpers/spawned-daemon.ts";

/** A run of the command: the list that it got, and its environment. */
interface Run {
  readonly list: {
    readonly revision: number;
    readonly whole?: true;
    readonly changes?: object;
    readonly config?: object;
  }[];
  readonly repo: string;
  readonly revision: string;
  readonly whole: string;
}

/** Notes each run in runs.jsonl; then does what the file "then" says, as a program of Node. */
const program = `
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
const { REPOCONF_REPO: repo, REPOCONF_REVISION: revision, REPOCONF_WHOLE: whole } = process.env;
appendFileSync("runs.jsonl", JSON.stringify({ list: JSON.parse(await text(process.stdin)), repo, revision, whole }) + "\\n");
if (existsSync("then.mjs")) await import(process.cwd() + "/then.mjs?" + process.pid);
`;

async function withCommand(home: CommandHome) {
  const file = (name: string) => join(home.workFolder, name);
  await writeFile(file("note.mjs"), program);
  const runs = (): readonly Run[] => {
    try {
      return readFileSync(file("runs.jsonl"), "utf8")
        .trim()
        .split("\n")
        .map(line => JSON.parse(line));
    } catch {
      return [];
    }
  };
  return {
    runs,
    revisions: () => runs().flatMap(({ list }) => list.map(({ revision }) => revision)),
    thenRun: (script: string) => writeFile(file("then.mjs"), script),
    start: (...options: string[]) =>
      home.start(
        ["watch", "--repo", "shop", "--state", "state.json", ...options, "--exec", "--", process.execPath, "note.mjs"],
        {
          folder: home.workFolder,
        },
      ),
    state: async () => JSON.parse(await readFile(file("state.json"), "utf8").catch(() => '{"revision":0}')),
    hasState: () => until(async () => (await readFile(file("state.json"), "utf8").catch(() => "")) !== "", "the state"),
    set: (value: string) => home.succeed(["set", "--repo", "shop", value]),
  };
}

test("the command gets a list of changes, masked, one run at a time, with what waits; a field narrows them", async () => {
  await using home = await makeShop();
  const { runs, start, set, hasState, thenRun, revisions } = await withCommand(home);
  await thenRun(
    `const { existsSync } = await import("node:fs"); while (!existsSync("go")) await new Promise(go => setTimeout(go, 20));`,
  );
  using watch = start();
  await hasState();
  await set(`svc.envvars=[{"name":"A","value":"s3cret"}]`);
  await until(() => runs().length === 1, "the first run");
  for (const timeout of [1, 2, 3]) await set(`svc.timeout=${timeout}`);
  expect(runs()).toHaveLength(1);
  await writeFile(join(home.workFolder, "go"), "");
  await until(() => revisions().length === 4, "the waiting changes");
  const [first, second] = runs();
  expect(first).toMatchObject({ repo: "shop", revision: String(first?.list[0]?.revision), whole: "" });
  expect(JSON.stringify(first)).toContain("••••••");
  expect(JSON.stringify(first)).not.toContain("s3cret");
  expect(second?.list.map(({ changes }) => changes)).toMatchObject(
    [1, 2, 3].map(value => ({ svc: { timeout: { value } } })),
  );
  watch.process.kill("SIGTERM");
  expect(await watch.ended).toBe(0);

  using narrow = home.start(
    ["watch", "svc.timeout", "--repo", "shop", "--state", "state.json", "--exec", "--", process.execPath, "note.mjs"],
    { folder: home.workFolder },
  );
  await set("svc.refresh_hour=7");
  await set("svc.timeout=4");
  await until(() => JSON.stringify(runs().at(-1)).includes('"value":4'), "the field's change");
  expect(JSON.stringify(runs())).not.toContain("refresh_hour");
  narrow.process.kill("SIGTERM");
  expect(await narrow.ended).toBe(0);
});

test("a command that fails gets the same changes again with those made meanwhile; only then the state goes on", async () => {
  await using home = await makeShop();
  const { runs, start, set, hasState, thenRun, state } = await withCommand(home);
  await thenRun("process.exitCode = 3;");
  using watch = start();
  await hasState();
  const before = (await state()).revision;
  await set("svc.timeout=1");
  await until(() => runs().length >= 2, "a second try");
  expect(runs()[1]?.list[0]).toEqual(runs()[0]?.list[0]);
  expect((await state()).revision).toBe(before);
  expect(watch.errorOutput()).toMatch(/exited with 3\. It gets these changes again in 1 s/);
  await until(() => watch.errorOutput().includes("in 2 s"), "a longer pause");
  await set("svc.timeout=2");
  await thenRun("");
  await until(async () => (await state()).revision === before + 2, "the state to go on");
  expect(
    runs()
      .at(-1)
      ?.list.map(({ revision }) => revision),
  ).toEqual([before + 1, before + 2]);
});

test("what the command changes itself does not start it again, unless asked", async () => {
  await using home = await makeShop();
  const { runs, start, set, hasState, thenRun, state } = await withCommand(home);
  const command = join(process.cwd(), "dist/repoconf.js");
  await thenRun(
    `import { execFileSync } from "node:child_process";
     const { revision } = JSON.parse(execFileSync(process.execPath, [${JSON.stringify(command)}, "get", "--repo", "shop", "--json", "--with-revision", "svc.refresh_hour"]));
     if (revision < 9) execFileSync(process.execPath, [${JSON.stringify(command)}, "set", "--repo", "shop", "svc.refresh_hour=" + revision]);`,
  );
  {
    using watch = start();
    await hasState();
    const before = (await state()).revision;
    await set("svc.timeout=1");
    await until(async () => (await state()).revision === before + 2, "its own change to be passed over");
    expect(runs()).toHaveLength(1);
    watch.process.kill("SIGTERM");
    await watch.ended;
  }
  using watch = start("--own-changes");
  await set("svc.timeout=2");
  await until(async () => (await state()).revision === 9, "its own changes to start it");
  expect(runs().length).toBeGreaterThan(3);
  watch.process.kill("SIGTERM");
  expect(await watch.ended).toBe(0);
});

test("a command that a signal stops has handled nothing, also if it exits with 0", async () => {
  await using home = await makeShop();
  const { runs, start, set, hasState, thenRun, state } = await withCommand(home);
  await thenRun(`process.on("SIGTERM", () => process.exit(0)); await new Promise(go => setTimeout(go, 1e6));`);
  let before = 0;
  {
    using watch = start();
    await hasState();
    before = (await state()).revision;
    await set("svc.timeout=1");
    await until(() => runs().length === 1, "the first run");
    watch.process.kill("SIGTERM");
    expect(await watch.ended).toBe(0);
  }
  expect((await state()).revision).toBe(before);
  await thenRun("");
  using watch = start();
  await until(async () => (await state()).revision === before + 1, "the change to be handled");
  expect(runs().map(({ list }) => list.map(({ revision }) => revision))).toEqual([[before + 1], [before + 1]]);
  watch.process.kill("SIGTERM");
  await watch.ended;
});

test("every change is handled at least once, over kills of the daemon, of the watch and of the command", async () => {
  await using home = await makeCommandHome();
  await mkdir(home.homeFolder, { recursive: true, mode: 0o700 });
  let daemon = await spawnDaemon(["--port", "0"], home.homeFolder);
  try {
    await addShop(home);
    const { start, set, hasState, revisions, state } = await withCommand(home);
    let watch = start("--no-start");
    await hasState();
    const before: number = (await state()).revision;
    let timeout = 0;
    for (const killed of ["daemon", "watch", "both", "watch"] as const) {
      await set(`svc.timeout=${++timeout}`);
      if (killed !== "daemon") {
        watch.process.kill("SIGKILL");
        await watch.ended;
      }
      if (killed !== "watch") {
        await daemon.end("SIGKILL");
        daemon = await spawnDaemon(["--port", "0"], home.homeFolder);
      }
      await set(`svc.timeout=${++timeout}`);
      if (killed !== "daemon") watch = start("--no-start");
      await set(`svc.timeout=${++timeout}`);
      await until(async () => (await state()).revision === before + timeout, `everything after the end of ${killed}`);
    }
    const expected = Array.from({ length: timeout }, (_, index) => before + 1 + index);
    expect([...new Set(revisions())]).toEqual(expected);
    watch.process.kill("SIGKILL");
    await watch.ended;
  } finally {
    await daemon[Symbol.asyncDispose]();
  }
});

test("a second watch with the same state is refused, until the first one ends, also if that was killed", async () => {
  await using home = await makeShop();
  const { start, set, hasState, state, revisions } = await withCommand(home);
  using first = start();
  await hasState();
  await symlink(home.workFolder, join(home.workFolder, "link"));
  for (const file of ["state.json", "link/state.json"]) {
    using second = start("--state", file);
    expect(await second.ended).toBe(3);
    expect(second.errorOutput()).toContain(`Another repoconf watch --exec has the state ${file}`);
  }
  using other = start("--state", "other.json");
  await until(() => existsSync(join(home.workFolder, "other.json")), "its own state");
  const { revision } = await state();
  await set("svc.timeout=1");
  await until(() => revisions().length === 2, "both commands");
  first.process.kill("SIGKILL");
  await first.ended;
  using third = start();
  await set("svc.timeout=2");
  await until(async () => (await state()).revision === revision + 2, "the third watch to go on");
  for (const watch of [other, third]) watch.process.kill("SIGTERM");
  expect(await Promise.all([other.ended, third.ended])).toEqual([0, 0]);
});

test("a file beside the state that is no lock of one is left as it is", async () => {
  await using home = await makeShop();
  const { start } = await withCommand(home);
  const lock = join(home.workFolder, "yarn.lock");
  await writeFile(lock, "x\n", { mode: 0o644 });
  using watch = start("--state", "yarn");
  expect(await watch.ended).toBe(1);
  expect(watch.errorOutput()).toContain("yarn.lock is no lock of a state");
  expect([readFileSync(lock, "utf8"), statSync(lock).mode & 0o777]).toEqual(["x\n", 0o644]);
});

test("an existing empty file beside the state is locked without any change of it", async () => {
  await using home = await makeShop();
  const { start, hasState } = await withCommand(home);
  const lock = join(home.workFolder, "state.json.lock");
  await writeFile(lock, "", { mode: 0o644 });
  const before = statSync(lock);
  using first = start();
  await hasState();
  using second = start();
  expect(await second.ended).toBe(3);
  first.process.kill("SIGTERM");
  await first.ended;
  const { mode, ino, size, ctimeMs } = statSync(lock);
  expect(before).toMatchObject({ mode, ino, size, ctimeMs });
});

test("where the history does not reach back it gets all values, and is told so", async () => {
  await using home = await makeCommandHome();
  await addShop(home, ["svc.timeout=7", "--repo", "shop"]);
  const { start, runs, hasState, state, set } = await withCommand(home);
  const { revision } = (await home.json(["repo", "list"]))[0];
  // The position is of a log that this home does not have.
  const stored = { repo: "shop", revision: revision + 5, position: "AAAAAAAAAAAAAAAAAAAAAA", batch: "x" };
  await writeFile(join(home.workFolder, "state.json"), JSON.stringify(stored));
  using watch = start();
  await hasState();
  await until(() => runs().length === 1, "all values");
  expect(runs()[0]).toMatchObject({ whole: "1", list: [{ revision, whole: true, config: { svc: { timeout: 7 } } }] });
  await until(async () => (await state()).revision === revision, "the state to be true again");
  await set("svc.timeout=8");
  await until(() => runs().length === 2, "the next change");
  expect(runs()[1]).toMatchObject({ whole: "", list: [{ revision: revision + 1 }] });
  watch.process.kill("SIGTERM");
  expect(await watch.ended).toBe(0);
});

test("a command that cannot run, a missing command and a wrong state are told, and nothing is watched", async () => {
  await using home = await makeShop(["svc.timeout=1", "--repo", "shop"]);
  const watching = (...args: string[]) =>
    runRepoconf(["watch", "--repo", "shop", ...args], {
      folder: home.workFolder,
      environment: { REPOCONF_HOME: home.homeFolder },
    });
  expect(await watching("--exec")).toMatchObject({ code: 2, errorOutput: expect.stringContaining("behind --") });
  expect(await watching("--state", "x")).toMatchObject({
    code: 2,
    errorOutput: expect.stringContaining("--state is for --exec"),
  });
  expect(await watching("svc.timeout", "true")).toMatchObject({
    code: 2,
    errorOutput: expect.stringContaining("--exec -- COMMAND"),
  });
  await writeFile(join(home.workFolder, "bad.json"), "{}");
  const bad = await watching("--state", "bad.json", "--exec", "--", "true");
  expect(bad).toMatchObject({
    code: 1,
    errorOutput: expect.stringContaining("bad.json is no state of repoconf watch --exec"),
  });
  await writeFile(join(home.workFolder, "bad.json"), JSON.stringify({ repo: "blog", revision: 1, batch: "x" }));
  const other = await watching("--state", "bad.json", "--exec", "--", "true");
  expect(other).toMatchObject({ code: 1, errorOutput: expect.stringContaining("another repository, blog") });
  // Its state can be read, but nobody could note that the command has run.
  await writeFile(join(home.workFolder, "real.json"), JSON.stringify({ repo: "shop", revision: 1, batch: "x" }));
  await rm(join(home.workFolder, "bad.json"));
  await symlink("real.json", join(home.workFolder, "bad.json"));
  const linked = await watching("--state", "bad.json", "--exec", "--", "sh", "-c", "echo ran >> runs");
  expect(linked).toMatchObject({
    code: 1,
    errorOutput: expect.stringContaining("is not a regular file. Name another"),
  });
  await expect(readFile(join(home.workFolder, "runs"))).rejects.toThrow("ENOENT");
  await rm(join(home.workFolder, "bad.json"));
  const missing = await watching("--since", "0", "--state", "bad.json", "--exec", "--", "./no-such-command");
  expect(missing).toMatchObject({ code: 127, errorOutput: expect.stringContaining("command not found") });
  // Beside a state are its lock and, while it is replaced, a file with a longer name.
  for (const [length, said] of [
    [251, "cannot be the state: with .lock, its name is too long (ENAMETOOLONG). Name a file with a shorter name."],
    [250, "cannot be written: its name is too long (ENAMETOOLONG). Name another file"],
  ] as const)
    expect(await watching("--state", "s".repeat(length), "--exec", "--", "true")).toMatchObject({
      code: 1,
      errorOutput: expect.stringContaining(said),
    });
  expect((await readdir(home.workFolder)).filter(name => name.endsWith(".lock"))).toEqual([]);
});
