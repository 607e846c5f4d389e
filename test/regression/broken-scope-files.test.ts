import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";
import { TestClock } from "../helpers/test-clock.ts";

test("broken scope files are retried concurrently (forty of them used to delay a start by ten seconds)", async () => {
  await using home = await temporaryFolder();
  await mkdir(join(home.path, "scopes"));
  for (let index = 0; index < 8; index++)
    await writeFile(join(home.path, "scopes", `broken${index}.schema.json`), "{ broken");
  const clock = new TestClock();
  const starting = startTestDaemon({ home: home.path, clock });
  for (const pause of [5, 15, 40, 90, 100]) {
    await until(() => clock.waiting(pause) === 8, "the daemon to wait for all files at once");
    clock.advance(pause);
  }
  await using t = await starting;
  expect((await t.owner.call("daemon/status")).result.problems).toHaveLength(8);
});
