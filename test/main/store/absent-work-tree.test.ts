import { mkdir, readdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { bundle } from "../../helpers/bundled.ts";
import { type TestClient, until } from "../../helpers/daemon.ts";
import { type DaemonProcess, startDaemonProcess } from "../../helpers/daemon-process.ts";
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

/** A work tree with a timeout of 30 in its file. */
async function createTree(kind: "git" | "plain" | "package") {
  const above = await temporaryFolder();
  const [home, folder, unmounted] = [join(above.path, "home"), join(above.path, "disk"), join(above.path, "unmounted")];
  for (const made of [home, folder]) await mkdir(made);
  if (kind !== "plain") await runProcess("git", ["init", "--quiet"], { folder: kind === "git" ? folder : above.path });
  let daemon: DaemonProcess;
  let client: TestClient;
  const tree = {
    folder,
    file: join(folder, ".repoconf.json"),
    call: (...args: Parameters<TestClient["call"]>) => client.call(...args),
    start: async () => {
      daemon = await startDaemonProcess(home, program);
      client = await daemon.connect();
    },
    end: async (how: "stop" | "kill") => {
      client.socket.close();
      await daemon[how]();
    },
    /** Puts an empty folder in its place. */
    unmount: async () => {
      await rename(folder, unmounted);
      await mkdir(folder);
    },
    mount: async () => {
      await rmdir(folder);
      await rename(unmounted, folder);
    },
    set: async (timeout: number) => (await client.call("config/set", { repo: "site", "svc.timeout": timeout })).errors,
    state: async () => {
      const { result } = await client.call("config/list", { repo: "site", field: "svc.timeout" });
      const entry = (await client.call("repo/list")).result[0];
      return {
        timeout: result["svc"]?.["timeout"],
        revision: entry?.revision,
        health: entry?.health.map(({ code }) => code),
      };
    },
    [Symbol.asyncDispose]: async () => {
      await tree.end("kill");
      await above[Symbol.asyncDispose]();
    },
  };
  await tree.start();
  await tree.call("repo/add", { id: "site", name: "site", path: folder, inTree: true });
  await tree.set(30);
  return tree;
}

describe.each(["git", "plain", "package"] as const)("a work tree (%s)", kind => {
  test("whose place an empty folder takes, while the daemon runs or before a start, keeps its values, and nothing is written there", async () => {
    await using tree = await createTree(kind);
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
      await using tree = await createTree(kind);
      await tree.end(how);
      await unlink(tree.file);
      await tree.start();
      expect(await tree.state()).toMatchObject({ timeout: 900, health: [] });
      await tree.call("file/read", { repo: "site" });
      expect((await readdir(tree.folder)).filter(name => name !== ".git")).toEqual([]);
    },
  );
});

test("a work tree is accepted without its file once a person has named the folder again", async () => {
  await using tree = await createTree("git");
  await tree.end("stop");
  await tree.unmount();
  await tree.start();
  const { errors } = await tree.call("repo/update", { repo: "site", path: tree.folder });
  expect(errors).toEqual([]);
  expect(await tree.state()).toMatchObject({ timeout: 900, health: [] });
  expect(await tree.set(31)).toEqual([]);
  await tree.end("stop");
  await rm(tree.file);
  await tree.start();
  expect(await tree.state()).toMatchObject({ timeout: 900, health: [] });
});

test.each([false, true])(
  "a new clone in the place of a work tree counts once a person has named it, or if nothing is known of the old one (%s); its file may then be deleted",
  async isUnknown => {
    await using tree = await createTree("git");
    await tree.end("stop");
    if (isUnknown) await rm(join(tree.folder, "..", "home", "index.json"));
    await rename(tree.file, `${tree.folder}.json`);
    await rm(tree.folder, { recursive: true });
    await mkdir(tree.folder);
    await runProcess("git", ["init", "--quiet"], { folder: tree.folder });
    await rename(`${tree.folder}.json`, tree.file);
    await tree.start();
    if (!isUnknown) {
      expect(await tree.state()).toMatchObject({ timeout: 30, health: [1106] });
      expect(await tree.set(31)).toMatchObject([{ code: 1106, message: expect.stringContaining("repo move site") }]);
      expect((await tree.call("repo/update", { repo: "site", path: tree.folder })).errors).toEqual([]);
    }
    expect(await tree.state()).toMatchObject({ timeout: 30, health: [] });
    expect(await tree.set(31)).toEqual([]);
    await rm(tree.file);
    await until(async () => (await tree.state()).timeout === 900, "the file to be deleted");
    expect((await tree.state()).health).toEqual([]);
  },
);
