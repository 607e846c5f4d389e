import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createDaemon } from "../../../main/daemon/daemon.ts";
import { noRescans, startTestDaemon, until } from "../../helpers/daemon.ts";
import { watchFileSystem } from "../../helpers/file-system.ts";
import { freezeHome } from "../../helpers/frozen-home.ts";
import { RevisionNotes } from "../../helpers/revision-notes.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { saveByRename, shopText, startShop } from "../../helpers/shop.ts";

test.each<[title: string, damage: (text: string) => string | undefined]>([
  ["is missing", () => undefined],
  ["is empty", () => ""],
  ["is cut short", text => text.slice(0, 60)],
  ["names another repository", text => text.replaceAll('"shop"', '"other"')],
])("index.json is rebuilt, and revisions stay the same, when it %s", async (_title, damage) => {
  await using shop = await startShop();
  const { t } = shop;
  await shop.set({ "svc.timeout": 31 });
  await t.daemon.close();
  const path = join(t.homeFolder, "index.json");
  const text = damage(await readFile(path, "utf8"));
  await (text === undefined ? rm(path) : writeFile(path, text));
  await t.restart();
  expect([await shop.value("timeout"), await shop.revision()]).toEqual([31, 2]);
  const { result } = await t.owner.call("repo/list");
  expect(result).toMatchObject([{ id: "shop", modified: 2, inTree: false, health: [] }]);
  expect(t.log.filter(line => line.includes("cannot compare"))).toEqual([]);
  await t.daemon.close();
  const index = JSON.parse(await readFile(path, "utf8"));
  expect(index).toMatchObject({ repositories: { shop: { id: "shop", name: "shop", modified: 2 } } });
});

test("files that were created or broken while no daemon ran are reported in the first reply", async () => {
  await using shop = await startShop();
  await shop.t.daemon.close();
  await writeFile(shop.file, "{ half");
  await writeFile(shop.t.repositoryFile("cellar"), shopText);
  await shop.t.restart();
  expect((await shop.t.owner.call("repo/list")).result).toMatchObject([
    { id: "cellar", modified: 2, health: [] },
    { id: "shop", name: "shop", health: [{ code: 1106, line: 1, column: 3 }] },
  ]);
});

test("no revision is assigned twice after a SIGKILL and then a start that is stopped before it has checked every file", async () => {
  await using t = await startTestDaemon(noRescans);
  const notes = new RevisionNotes();
  // More than are checked concurrently.
  const others = Array.from({ length: 40 }, (_, i) => `a${i}`);
  for (const id of [...others, "last"]) await t.addRepository(id);
  await t.restart();
  await notes.set(t, "last", 10, 20, 30);
  await using frozen = await freezeHome(t.homeFolder);
  for (const id of others) await saveByRename(join(frozen.path, `repos/${id}.json`), "{}");
  const fileSystem = watchFileSystem();
  const stopped = Promise.withResolvers<void>();
  fileSystem.before = async ({ path }) => {
    if (path.includes("/repos/a")) await stopped.promise;
  };
  const logger = pino({ level: "silent" });
  const daemon = await createDaemon({ home: frozen.path, version: "0.0.0-test", port: 0, logger }, { fileSystem });
  const closing = daemon.close();
  // The store is closing once the port no longer answers.
  await until(
    () =>
      fetch(daemon.url).then(
        () => false,
        () => true,
      ),
    "the daemon to be stopping",
  );
  setImmediate(stopped.resolve);
  await closing;
  await using after = await startTestDaemon({ ...noRescans, home: frozen.path });
  expect(await timeoutOf(after, "last")).toBe(30);
  await notes.note(after, "last");
  await notes.set(after, "last", 40, 50);
});
