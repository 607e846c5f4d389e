import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type Clock, systemClock } from "../../../main/time/clock.ts";
import { startTestDaemon } from "../../helpers/daemon.ts";
import { type FileCall, watchFileSystem } from "../../helpers/file-system.ts";
import { addLoadScope } from "../../helpers/load-scope.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const fields = Array.from({ length: 3_900 }, (_, index) => `field_${index}`);

test("sets on a repository whose file has 3.9 MB are answered before its new text is made, and so are sets on others", async () => {
  await using home = await temporaryFolder();
  await addLoadScope(home.path, fields);
  const fileSystem = watchFileSystem();
  // While this is true, nothing is written after the sets.
  let isHeld = false;
  const clock: Clock = {
    ...systemClock,
    schedule: (milliseconds, task) => (isHeld ? () => {} : systemClock.schedule(milliseconds, task)),
  };
  await using t = await startTestDaemon({ home: home.path, fileSystem, clock });
  const [large, small] = [await t.addRepository("large"), await t.addRepository("small")];
  const config = { load: Object.fromEntries(fields.map(field => [field, "x".repeat(980)])) };
  await writeFile(t.repositoryFile(large), JSON.stringify({ name: "large", config }, null, 2));
  const text = await t.readRepository(large);
  expect(text.length).toBeGreaterThan(3_850_000);
  await t.owner.call("config/set", { repo: large, "load.field_0": "first", flush: true });

  isHeld = true;
  const begun: FileCall[][] = [];
  for (let number = 1; number <= 3; number++) {
    for (const repo of [large, small]) {
      const before = fileSystem.calls.length;
      const values = repo === large ? { "load.field_1": `${number}` } : { "svc.timeout": number };
      expect((await t.owner.call("config/set", { repo, ...values })).errors).toEqual([]);
      begun.push(fileSystem.calls.slice(before).filter(({ path }) => path.includes("large.json")));
    }
  }
  expect(begun.flat().filter(({ operation }) => ["writeFile", "sync", "rename"].includes(operation))).toEqual([]);
  expect(JSON.parse(await t.readRepository(large)).config.load).toMatchObject({ field_0: "first", field_1: "3" });
});
