import { closeSync, existsSync, fstatSync, openSync, readFileSync } from "node:fs";
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createDaemon } from "../../../main/daemon/daemon.ts";
import { RotatingLog } from "../../../main/files/rotating-log.ts";
import { connectClient } from "../../helpers/daemon.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

test("a log that reaches its limit replaces the one put aside before: the newest lines are kept, complete and without a gap", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "daemon.log");
  const limit = 100;
  const log = new RotatingLog(path, limit);
  const written: string[] = [];
  for (let number = 1; number <= 60; number++) {
    // Some are longer than the whole limit.
    const line = `${number} ${"x".repeat((number * 37) % 120)}\n`;
    log.write(line);
    written.push(line);
    const aside = linesOf(await readFile(`${path}.1`, "utf8").catch(() => ""));
    const present = linesOf(await readFile(path, "utf8"));
    const kept = [...aside, ...present];
    expect(kept).toEqual(written.slice(-kept.length));
    for (const lines of [aside, present])
      if (lines.length > 1) expect(lines.join("").length).toBeLessThanOrEqual(limit);
    // Nothing is put aside, and so nothing is lost, while there is room.
    if (aside.length === 0) expect(kept.length).toBe(number);
    else expect([...aside, ...present.slice(0, 1)].join("").length).toBeGreaterThan(limit);
  }
  if (process.platform !== "win32") expect((await stat(path)).mode & 0o777).toBe(0o600);
});

function linesOf(text: string): string[] {
  return text.match(/.*\n|.+$/g) ?? [];
}

test("what an earlier daemon wrote counts toward the limit", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "daemon.log");
  new RotatingLog(path, 30).write("from an earlier daemon\n");
  new RotatingLog(path, 30).write("from this one\n");
  expect(await readFile(path, "utf8")).toBe("from this one\n");
  expect(await readFile(`${path}.1`, "utf8")).toBe("from an earlier daemon\n");
});

const noFullDevice = existsSync("/dev/full") ? false : "no /dev/full";

test("a log on a full disk does not stop the daemon, which keeps answering", async context => {
  if (noFullDevice) context.skip(noFullDevice);
  await using home = await temporaryFolder();
  const logger = pino({ level: "debug", base: null }, new RotatingLog("/dev/full", 5_000_000));
  const daemon = await createDaemon({ home: home.path, version: "0.0.0-test", port: 0, logger });
  try {
    // Each of these writes a line to the log.
    await expect(connectClient(daemon.url, "no key")).rejects.toThrow();
    const key = readFileSync(join(home.path, "owner.key"), "utf8").trim();
    const owner = await connectClient(daemon.url, key);
    expect((await owner.call("repo/add", { id: "shop", name: "shop" })).errors).toEqual([]);
    expect((await owner.call("config/set", { repo: "shop", "svc.timeout": 5 })).errors).toEqual([]);
    owner.socket.close();
  } finally {
    await daemon.close();
  }
});

test("a log that cannot be rotated writes to no file but its own", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "daemon.log");
  await mkdir(`${path}.1/in-the-way`, { recursive: true });
  const log = new RotatingLog(path, 10);
  log.write("the first line\n");
  log.write("the second line\n");
  // The next file descriptor that the process opens may reuse the log's number.
  const other = join(folder.path, "other");
  const handle = openSync(other, "w");
  log.write("the third line\n");
  log.write("the fourth line\n");
  expect(() => fstatSync(handle)).not.toThrow();
  expect(readFileSync(other, "utf8")).toBe("");
  closeSync(handle);
});
