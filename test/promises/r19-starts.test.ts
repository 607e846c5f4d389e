import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "vitest";
import type { TestClient } from "../helpers/daemon.ts";
import { startDaemonProcess } from "../helpers/daemon-process.ts";
import { git } from "../helpers/git.ts";
import { amount, judge, seed } from "../helpers/promise.ts";
import { randomNumbers } from "../helpers/random.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const sequences = amount(20, 500);

/** A work tree with branches, one of them without the file, and a home whose daemon is stopped or killed. */
async function makeSite() {
  const above = await temporaryFolder();
  const [home, tree] = [join(above.path, "home"), join(above.path, "site")];
  const file = join(tree, ".repoconf.json");
  /** Runs git; a command that does not apply now, such as a checkout over local changes, changes nothing. */
  const runGit = (...args: readonly string[]) => git(tree, ...args).catch(() => "");
  for (const folder of [home, tree]) await mkdir(folder);
  await runGit("init", "--quiet", "--initial-branch", "bare");
  await writeFile(join(tree, "README"), "A site.\n");
  await runGit("add", ".");
  await runGit("commit", "--quiet", "--message", "begin");
  for (const [branch, timeout] of Object.entries({ main: 30, other: 60 })) {
    await runGit("switch", "--quiet", "--create", branch, "bare");
    await writeFile(file, `{\n  // of ${branch}\n  "config": { "svc": { "timeout": ${timeout} } }\n}\n`);
    await runGit("add", ".");
    await runGit("commit", "--quiet", "--message", branch);
    await runGit("tag", `first-${branch}`);
  }
  let daemon = await startDaemonProcess(home);
  let client = await daemon.connect();
  await client.call("repo/add", { id: "site", name: "site", path: tree, inTree: true });
  const end = async (how: "stop" | "kill") => {
    client.socket.close();
    await daemon[how]();
  };
  return {
    git: runGit,
    start: async () => {
      daemon = await startDaemonProcess(home);
      client = await daemon.connect();
    },
    end,
    call: (...[name, args]: Parameters<TestClient["call"]>) => client.call(name, args),
    /** The file as git and a person see it. */
    seen: async () => {
      const text = await readFile(file, "utf8").catch(() => undefined);
      return { status: await runGit("status", "--porcelain"), text };
    },
    [Symbol.asyncDispose]: async () => {
      await end("kill");
      await above[Symbol.asyncDispose]();
    },
  };
}

/** What people do while no daemon runs. */
const away: readonly (readonly string[])[] = [
  ["switch", "--quiet", "main"],
  ["switch", "--quiet", "other"],
  ["switch", "--quiet", "bare"],
  ["checkout", "--quiet", "HEAD~1", "--", ".repoconf.json"],
  ["checkout", "--quiet", "--", "."],
  ["stash", "--quiet"],
  ["stash", "pop", "--quiet"],
  ["reset", "--quiet", "--hard"],
  ["reset", "--quiet", "--hard", "HEAD~1"],
  ["commit", "--quiet", "--all", "--message", "values"],
  ["rebase", "--quiet", "bare"],
  ["clean", "--quiet", "--force"],
];

test(`R19: after ${sequences} sequences of git between a stop or a kill and the next start, git sees what it saw before`, async () => {
  const random = randomNumbers(seed);
  const pick = <Item>(items: readonly Item[]): Item => {
    const item = items[random(items.length)];
    if (item === undefined) throw new Error("nothing to choose from");
    return item;
  };
  await using site = await makeSite();
  const failures: string[] = [];
  for (let sequence = 1; sequence <= sequences; sequence++) {
    const steps: string[] = [];
    // Conflicts were compared once; with them, no set would be accepted.
    if ((await site.seen()).text?.includes("<<<<")) {
      await site.git("rebase", "--abort");
      await site.git("checkout", "--quiet", "--force", "-B", "main", "first-main");
    }
    for (let sets = random(4); sets > 0; sets--) {
      const timeout = 100 + random(1_000);
      await site.call("config/set", { repo: "site", "svc.timeout": timeout });
      steps.push(`set ${timeout}`);
      if (random(2) === 0) await site.git("add", ".");
      if (random(2) === 0) await site.git("commit", "--quiet", "--all", "--message", "values");
    }
    const how = pick(["stop", "kill"] as const);
    await site.end(how);
    steps.push(how);
    for (let commands = 1 + random(3); commands > 0; commands--) {
      const command = pick(away);
      await site.git(...command);
      steps.push(command.join(" "));
    }
    const before = await site.seen();
    await site.start();
    const { result } = await site.call("config/list", { repo: "site", field: "svc.timeout" });
    // Waits until the file is written, if the start is to write it.
    await site.call("file/read", { repo: "site" });
    const after = await site.seen();
    const inFile = /"timeout": (\d+)/.exec(after.text ?? "")?.[1] ?? "900";
    const active = JSON.stringify(result);
    // With conflict markers, the last valid values stay active.
    const isActive = after.text?.includes("<<<<") || active === `{"svc":{"timeout":${inFile}}}`;
    if (after.text !== before.text || after.status !== before.status || !isActive)
      failures.push(`${sequence}: ${steps.join(", ")}: ${JSON.stringify({ before, after, active })}`);
  }
  judge("R19", sequences, failures, "sequences of git");
});
