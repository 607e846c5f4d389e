import { mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newKeyText } from "../../../main/daemon/keys/key-text.ts";
import { noRescans, startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";

const read = (path: string) => readFile(path, "utf8").catch(() => "");
const untilLogged = (t: TestDaemon, problem: string) =>
  until(() => t.log.some(line => line.includes(problem)), "the problem to be logged");

describe("daemon.json is restored while the daemon runs", () => {
  test("when it was removed, garbled, names another URL, or was replaced by a link", async () => {
    await using t = await startTestDaemon(noRescans);
    const path = join(t.homeFolder, "daemon.json");
    const text = await readFile(path, "utf8");
    for (const damage of [
      () => rm(path),
      () => writeFile(path, "{"),
      () => writeFile(path, text.replace(/"url": "[^"]+"/, `"url": "http://127.0.0.1:1"`)),
      () => rm(path).then(() => symlink("/dev/null", path)),
    ]) {
      await damage();
      await until(async () => (await read(path)) === text, "daemon.json to be as it was");
    }
    await t.daemon.close();
    expect(await read(path)).toBe("");
  });

  test("by the next rescan once a folder in its place is removed", async () => {
    await using t = await startTestDaemon({ rescanInterval: 20 });
    const path = join(t.homeFolder, "daemon.json");
    const text = await readFile(path, "utf8");
    await rm(path);
    await mkdir(path);
    await untilLogged(t, "cannot restore a file of the home");
    await rm(path, { recursive: true });
    await until(async () => (await read(path)) === text, "daemon.json to be as it was");
  });
});

describe("the owner's key, while the daemon runs", () => {
  const keyFile = (t: TestDaemon) => join(t.homeFolder, "owner.key");
  const keyOf = async (t: TestDaemon) => (await read(keyFile(t))).trim();

  test.each(["removed", "replaced by another"])(
    "when it is %s, the one in its file is valid; the old one, all sessions and their connections end; other keys stay valid",
    async how => {
      await using t = await startTestDaemon(noRescans);
      const old = t.ownerKey;
      const session = (await t.owner.call("session/create", { label: "browser" })).result;
      const tool = (await t.owner.call("key/create", { name: "tool", grants: [] })).result.key;
      const window = await t.connect(session);
      const owner = t.owner;
      const another = newKeyText().key;
      if (how === "removed") await rm(keyFile(t));
      else await writeFile(keyFile(t), `${another}\n`);
      await until(() => !owner.socket.connected && !window.socket.connected, "the connections to be closed");
      await until(async () => (await keyOf(t)) !== "", "the new key");
      const key = await keyOf(t);
      expect(key).toMatch(/^repoconf_/);
      expect(key).not.toBe(old);
      if (how !== "removed") expect(key).toBe(another);
      const next = await t.connect(key);
      expect((await next.call("key/list")).result.map(({ name }) => name)).toEqual(["tool"]);
      await t.connect(tool);
      for (const ended of [old, session]) await expect(t.connect(ended)).rejects.toThrow("Unauthorized");
      await t.restart();
      for (const ended of [old, session]) await expect(t.connect(ended)).rejects.toThrow("Unauthorized");
      await t.connect(tool);
      expect(t.ownerKey).toBe(key);
    },
  );

  test("when it is removed and no new one can be written, the old one and all sessions end anyway, once", async () => {
    await using t = await startTestDaemon({ rescanInterval: 20 });
    const session = (await t.owner.call("session/create", { label: "browser" })).result;
    const { owner } = t;
    // The folder for temporary files becomes a file, so that nothing can be written.
    const temporary = join(t.homeFolder, "tmp");
    // Moved in one step, because the daemon may be writing there right now.
    await rename(temporary, `${temporary}.moved`);
    await writeFile(temporary, "");
    await rm(keyFile(t));
    await until(() => !owner.socket.connected, "the old key to end");
    await untilLogged(t, "cannot restore a file of the home");
    for (const ended of [t.ownerKey, session]) await expect(t.connect(ended)).rejects.toThrow("Unauthorized");
    expect(await keyOf(t)).toBe("");
    await rm(temporary);
    await mkdir(temporary, { mode: 0o700 });
    await until(async () => (await keyOf(t)).startsWith("repoconf_"), "a new key");
    const next = await t.connect(await keyOf(t));
    expect((await next.call("key/list")).result).toEqual([]);
    const audited = async (event: string) =>
      (await read(join(t.homeFolder, "audit.log")))
        .split("\n")
        .filter(line => line.includes('"owner"') && line.includes(event)).length;
    // The key is valid as soon as its file contains it; the line follows once it is durable.
    await until(async () => (await audited("keyMade")) === 2, "the line of the new key");
    expect(await audited("keyRevoked")).toBe(1);
  });

  test("when its file is deleted and written again with the same key, or contains no key, nothing ends; the latter is reported", async () => {
    await using t = await startTestDaemon(noRescans);
    const text = await readFile(keyFile(t), "utf8");
    await rm(keyFile(t));
    await writeFile(keyFile(t), text);
    // Changes in one folder are checked in order, so the key has been checked once this file is restored.
    await rm(join(t.homeFolder, "daemon.json"));
    await until(async () => (await read(join(t.homeFolder, "daemon.json"))) !== "", "daemon.json to be back");
    expect(await readFile(keyFile(t), "utf8")).toBe(text);
    expect((await t.owner.call("key/self")).errors).toEqual([]);
    await writeFile(keyFile(t), "no key\n");
    await untilLogged(t, "does not contain a key");
    expect(await read(keyFile(t))).toBe("no key\n");
    await t.connect(t.ownerKey);
    await rm(keyFile(t));
    await until(async () => (await keyOf(t)).startsWith("repoconf_"), "a new key");
    await t.connect(await keyOf(t));
  });
});
