import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { startTestDaemon } from "../helpers/daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

// A mock that looks on: the pauses are the real ones, and it is counted how many go on at once.
const pauses = vi.hoisted(() => ({ now: 0, most: 0 }));
vi.mock("node:timers/promises", async importOriginal => {
  const timers = await importOriginal<typeof import("node:timers/promises")>();
  const setTimeout: typeof timers.setTimeout = async (...given) => {
    pauses.now++;
    pauses.most = Math.max(pauses.most, pauses.now);
    try {
      return await timers.setTimeout(...given);
    } finally {
      pauses.now--;
    }
  };
  return { ...timers, setTimeout };
});

test("broken scope files are waited for side by side: forty of them held up a start for ten seconds", async () => {
  await using home = await temporaryFolder();
  await mkdir(join(home.path, "scopes"));
  for (let index = 0; index < 8; index++)
    await writeFile(join(home.path, "scopes", `broken${index}.schema.json`), "{ broken");
  await using t = await startTestDaemon({ home: home.path });
  expect(pauses.most).toBeGreaterThanOrEqual(8);
  expect((await t.owner.call("daemon/status")).result.problems).toHaveLength(8);
});
