import { mkdir, readdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { bundle } from "../../helpers/bundled.ts";
import type { TestClient } from "../../helpers/daemon.ts";
import { DaemonProcess } from "../../helpers/daemon-process.ts";
import { runProcess } from "../../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/*
 * What a start concludes if an in-tree file is missing. An empty folder that was put in the place of the work tree is what a disk that is
 * not mounted leaves.
 */

let program: string;
beforeAll(async () => {
  const folder = await temporaryFolder();
  program = await bundle("dying-daemon.ts", folder.path);
  return () => folder[Symbol.asyncDispose]();
});

class Tree implements AsyncDisposable {
  readonly folder: string;
  readonly file: string;
  readonly #above: Awaited<ReturnType<typeof temporaryFolder>>;
  #daemon: DaemonProcess | undefined;
  #client: TestClient | undefined;

  constructor(above: Awaited<ReturnType<typeof temporaryFolder>>) {
    this.#above = above;
    this.folder = join(above.path, "disk");
    this.file = join(this.folder, ".repoconf.json");
  }

  /** With a timeout of 30 in its file. */
  static async create(kind: "git" | "plain" | "package"): Promise<Tree> {
    const tree = new Tree(await temporaryFolder());
    await mkdir(tree.folder);
    await mkdir(tree.#home);
    if (kind === "package") await runProcess("git", ["init", "--quiet"], { folder: dirname(tree.folder) });
    if (kind === "git") await runProcess("git", ["init", "--quiet"], { folder: tree.folder });
    await tree.start();
    await tree.client.call("repo/add", { id: "site", name: "site", path: tree.folder, inTree: true });
    await tree.set(30);
    return tree;
  }

  get #home(): string {
    return join(this.#above.path, "home");
  }

  get client(): TestClient {
    if (this.#client === undefined) throw new Error("no daemon");
    return this.#client;
  }

  async start(): Promise<void> {
    this.#daemon = await DaemonProcess.start(this.#home, program);
    this.#client = await this.#daemon.connect();
  }

  async end(how: "stop" | "kill"): Promise<void> {
    this.#client?.socket.close();
    await this.#daemon?.[how]();
  }

  /** Puts an empty folder in its place. */
  async unmount(): Promise<void> {
    await rename(this.folder, join(this.#above.path, "unmounted"));
    await mkdir(this.folder);
  }

  async mount(): Promise<void> {
    await rmdir(this.folder);
    await rename(join(this.#above.path, "unmounted"), this.folder);
  }

  async set(timeout: number) {
    return (await this.client.call("config/set", { repo: "site", "svc.timeout": timeout })).errors;
  }

  async state() {
    const { result } = await this.client.call("config/list", { repo: "site", field: "svc.timeout" });
    const entry = (await this.client.call("repo/list")).result[0];
    return { ...result["svc"], revision: entry?.revision, health: entry?.health.map(({ code }) => code) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("kill");
    await this.#above[Symbol.asyncDispose]();
  }
}

describe.each(["git", "plain", "package"] as const)("a work tree (%s)", kind => {
  test("whose place an empty folder takes, while the daemon runs or before a start, keeps its values, and nothing is written there", async () => {
    await using tree = await Tree.create(kind);
    const before = await tree.state();
    const keepsItsValues = async () => {
      expect(await tree.set(31)).toMatchObject([
        { code: 1106, message: expect.stringContaining("repoconf repo move site") },
      ]);
      expect(await tree.state()).toEqual({ ...before, health: [1106] });
      expect(await readdir(tree.folder)).toEqual([]);
    };
    await tree.unmount();
    await keepsItsValues();
    await tree.mount();
    for (const how of kind === "git" ? (["stop", "kill"] as const) : (["kill"] as const)) {
      await tree.end(how);
      await tree.unmount();
      for (const again of ["stop", "kill"] as const) {
        await tree.start();
        await keepsItsValues();
        await tree.end(again);
      }
      await tree.mount();
      await tree.start();
      expect(await tree.state()).toEqual(before);
    }
    expect(await tree.set(31)).toEqual([]);
    expect(await tree.state()).toMatchObject({ timeout: 31, revision: (before.revision ?? 0) + 1, health: [] });
  });

  // After a kill only git's mark tells which folder it is.
  test.each(kind === "git" ? (["stop", "kill"] as const) : (["stop"] as const))(
    "whose file was deleted after a %s has no values, and gets no file at the start",
    async how => {
      await using tree = await Tree.create(kind);
      await tree.end(how);
      await unlink(tree.file);
      await tree.start();
      expect(await tree.state()).toMatchObject({ timeout: 900, health: [] });
      await tree.client.call("file/read", { repo: "site" });
      expect((await readdir(tree.folder)).filter(name => name !== ".git")).toEqual([]);
    },
  );
});

test("a work tree is accepted without its file once a person has named the folder again", async () => {
  await using tree = await Tree.create("git");
  await tree.end("stop");
  await tree.unmount();
  await tree.start();
  const { errors } = await tree.client.call("repo/update", { repo: "site", path: tree.folder });
  expect(errors).toEqual([]);
  expect(await tree.state()).toMatchObject({ timeout: 900, health: [] });
  expect(await tree.set(31)).toEqual([]);
  await tree.end("stop");
  await rm(tree.file);
  await tree.start();
  expect(await tree.state()).toMatchObject({ timeout: 900, health: [] });
});

test("a new clone in the place of a work tree counts if it has the file", async () => {
  await using tree = await Tree.create("git");
  await tree.end("kill");
  await rename(tree.file, `${tree.folder}.json`);
  await rm(tree.folder, { recursive: true });
  await mkdir(tree.folder);
  await runProcess("git", ["init", "--quiet"], { folder: tree.folder });
  await rename(`${tree.folder}.json`, tree.file);
  await tree.start();
  expect(await tree.state()).toMatchObject({ timeout: 30, health: [] });
  expect(await tree.set(31)).toEqual([]);
});
