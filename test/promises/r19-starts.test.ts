import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "vitest";
import { bundle } from "../helpers/bundled.ts";
import type { TestClient } from "../helpers/daemon.ts";
import { DaemonProcess } from "../helpers/daemon-process.ts";
import { git } from "../helpers/git.ts";
import { amount, judge, seed } from "../helpers/promise.ts";
import { randomNumbers } from "../helpers/random.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const sequences = amount(20, 500);

/** A work tree with branches, one of them without the file, and a home whose daemon is stopped or killed. */
class Site implements AsyncDisposable {
  readonly file: string;
  readonly #above: Awaited<ReturnType<typeof temporaryFolder>>;
  readonly #program: string;
  #daemon: DaemonProcess | undefined;
  #client: TestClient | undefined;

  private constructor(above: Awaited<ReturnType<typeof temporaryFolder>>, program: string) {
    this.#above = above;
    this.#program = program;
    this.file = join(above.path, "site/.repoconf.json");
  }

  static async create(): Promise<Site> {
    const above = await temporaryFolder();
    const site = new Site(above, await bundle("dying-daemon.ts", join(above.path, "program")));
    await mkdir(join(above.path, "site"));
    await mkdir(join(above.path, "home"));
    await site.git("init", "--quiet", "--initial-branch", "bare");
    await writeFile(join(above.path, "site/README"), "A site.\n");
    await site.git("add", ".");
    await site.git("commit", "--quiet", "--message", "begin");
    for (const [branch, timeout] of [
      ["main", 30],
      ["other", 60],
    ] as const) {
      await site.git("switch", "--quiet", "--create", branch, "bare");
      await writeFile(site.file, `{\n  // of ${branch}\n  "config": { "svc": { "timeout": ${timeout} } }\n}\n`);
      await site.git("add", ".");
      await site.git("commit", "--quiet", "--message", branch);
      await site.git("tag", `first-${branch}`);
    }
    await site.start();
    const path = join(above.path, "site");
    await site.call("repo/add", { id: "site", name: "site", path, inTree: true });
    return site;
  }

  async start(): Promise<void> {
    this.#daemon = await DaemonProcess.start(join(this.#above.path, "home"), this.#program);
    this.#client = await this.#daemon.connect();
  }

  async end(how: "stop" | "kill"): Promise<void> {
    this.#client?.socket.close();
    await this.#daemon?.[how]();
  }

  /** Runs git; a command that does not apply now, such as a checkout over local changes, changes nothing. */
  git(...args: readonly string[]): Promise<string> {
    return git(join(this.#above.path, "site"), ...args).catch(() => "");
  }

  call(...[name, args]: Parameters<TestClient["call"]>) {
    if (this.#client === undefined) throw new Error("no daemon");
    return this.#client.call(name, args);
  }

  /** The file as git and a person see it. */
  async seen(): Promise<{ readonly status: string; readonly text: string | undefined }> {
    const text = await readFile(this.file, "utf8").catch(() => undefined);
    return { status: await this.git("status", "--porcelain"), text };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("kill");
    await this.#above[Symbol.asyncDispose]();
  }
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
  await using site = await Site.create();
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
