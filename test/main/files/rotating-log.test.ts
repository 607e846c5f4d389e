import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RotatingLog } from "../../../main/files/rotating-log.ts";
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
