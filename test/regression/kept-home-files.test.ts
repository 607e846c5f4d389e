import { mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newKeyText } from "../../main/daemon/keys/key-text.ts";
import { startTestDaemon, type TestDaemon, until } from "../helpers/daemon.ts";

const noRescans = { rescanInterval: 3_600_000 };
const read = (path: string) => readFile(path, "utf8").catch(() => "");

describe("daemon.json is written again while the daemon runs", () => {
  const damages: { readonly [damage: string]: (path: string) => Promise<void> } = {
    "was removed": path => rm(path),
    "was garbled": path => writeFile(path, "{"),
    "says another URL": async path =>
      writeFile(path, (await readFile(path, "utf8")).replace(/"url": "[^"]+"/, `"url": "http://127.0.0.1:1"`)),
    "gave way to a link": async path => {
      await rm(path);
      await symlink("/dev/null", path);
    },
  };
  test.each(Object.entries(damages))("when it %s", async (_damage, damage) => {
    await using t = await startTestDaemon(noRescans);
    const path = join(t.homeFolder, "daemon.json");
    const text = await readFile(path, "utf8");
    await damage(path);
    await until(async () => (await read(path)) === text, "daemon.json to be as it was");
    await t.daemon.close();
    expect(await read(path)).toBe("");
  });

  test("though a folder stood in its place for a while: the next rescan does", async () => {
    await using t = await startTestDaemon({ rescanInterval: 20 });
    const path = join(t.homeFolder, "daemon.json");
    const text = await readFile(path, "utf8");
    await rm(path);
    await mkdir(path);
    await until(() => t.log.some(line => line.includes("cannot restore a file of the home")), "the problem to be told");
    await rm(path, { recursive: true });
    await until(async () => (await read(path)) === text, "daemon.json to be as it was");
  });
});

describe("the owner's key, while the daemon runs", () => {
  const keyFile = (t: TestDaemon) => join(t.homeFolder, "owner.key");
  const keyOf = async (t: TestDaemon) => (await read(keyFile(t))).trim();

  test.each(["removed", "replaced by another"])(
    "when it is %s, its file's holds; the old one and all sessions have ended, and their connections; other keys stay good",
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

  test("when it is removed and the disk takes no new one, the old one and all sessions have ended all the same, once", async () => {
    await using t = await startTestDaemon({ rescanInterval: 20 });
    const session = (await t.owner.call("session/create", { label: "browser" })).result;
    const { owner } = t;
    // Where new texts are written first nothing can be.
    const temporary = join(t.homeFolder, "tmp");
    // Moved in one step: the daemon may be writing something there just now.
    await rename(temporary, `${temporary}.moved`);
    await writeFile(temporary, "");
    await rm(keyFile(t));
    await until(() => !owner.socket.connected, "the old key to end");
    await until(() => t.log.some(line => line.includes("cannot restore a file of the home")), "the problem to be told");
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
    // The key serves as soon as its file has it; the line comes once the disk has it too.
    await until(async () => (await audited("keyMade")) === 2, "the line of the new key");
    expect(await audited("keyRevoked")).toBe(1);
  });

  test("when it is saved by removing and writing it again, nothing ends", async () => {
    await using t = await startTestDaemon(noRescans);
    const text = await readFile(keyFile(t), "utf8");
    await rm(keyFile(t));
    await writeFile(keyFile(t), text);
    // What comes after it in the same folder has been checked after it.
    await rm(join(t.homeFolder, "daemon.json"));
    await until(async () => (await read(join(t.homeFolder, "daemon.json"))) !== "", "daemon.json to be back");
    expect(await readFile(keyFile(t), "utf8")).toBe(text);
    expect((await t.owner.call("key/self")).errors).toEqual([]);
  });

  test("when its file holds no key, that is told, and the one known stays good", async () => {
    await using t = await startTestDaemon(noRescans);
    await writeFile(keyFile(t), "no key\n");
    await until(() => t.log.some(line => line.includes("does not contain a key")), "the problem to be told");
    expect(await read(keyFile(t))).toBe("no key\n");
    await t.connect(t.ownerKey);
    await rm(keyFile(t));
    await until(async () => (await keyOf(t)).startsWith("repoconf_"), "a new key");
    await t.connect(await keyOf(t));
  });
});
