import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { homeFormat } from "../../../../main/home/prepare-home.ts";
import { halfAFile, untilHealth } from "../../../helpers/broken-file.ts";
import { noRescans, startTestDaemon, type TestDaemon } from "../../../helpers/daemon.ts";
import { journalFiles } from "../../../helpers/journal.ts";
import { saveByRename, shopText, startShop } from "../../../helpers/shop.ts";
import { temporaryFolder } from "../../../helpers/temporary-folder.ts";

/** A home with files of repositories and nothing else. */
async function homeWithFiles(repositories: { readonly [id: string]: string }) {
  const home = await temporaryFolder();
  await mkdir(join(home.path, "repos"));
  for (const [id, text] of Object.entries(repositories)) await writeFile(join(home.path, "repos", `${id}.json`), text);
  return home;
}

function historyOf(t: TestDaemon, repo: string) {
  return t.owner.call("history/list", { repo });
}

describe("a home without a journal", () => {
  test("gets revision 1 of source file with its file's values, and the format, and keeps them at the next start", async () => {
    await using home = await homeWithFiles({ shop: shopText, empty: "{}" });
    await using t = await startTestDaemon({ ...noRescans, home: home.path });
    expect(await t.owner.call("config/list", { repo: "shop", stored: true })).toEqual({
      result: { svc: { timeout: 30, refresh_day: 2 } },
      errors: [],
      revision: 1,
    });
    const timeout = { value: 30, previous: 900, stored: true };
    const changes = { svc: { timeout, refresh_day: { value: 2, previous: 0, stored: true } } };
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const entry = { revision: 1, time, actor: "file", source: "file" };
    expect(await historyOf(t, "shop")).toEqual({ result: [{ ...entry, changes }], errors: [] });
    expect(await historyOf(t, "empty")).toEqual({ result: [{ ...entry, changes: {} }], errors: [] });
    expect(await readFile(join(home.path, "format"), "utf8")).toBe(`${homeFormat}\n`);
    expect(await readFile(join(home.path, "repos/shop.json"), "utf8")).toBe(shopText);
    expect(t.log.filter(line => line.includes("damaged"))).toEqual([]);
    const before = await journalFiles(join(home.path, "journal"));
    await t.restart();
    expect((await historyOf(t, "shop")).result).toEqual([{ ...entry, changes }]);
    expect(await journalFiles(join(home.path, "journal"))).toEqual(before);
  });

  test("begins the history of a broken file once the file is fixed", async () => {
    await using home = await homeWithFiles({ shop: halfAFile });
    await using t = await startTestDaemon({ ...noRescans, home: home.path });
    expect((await t.owner.call("config/list", { repo: "shop" })).errors).toMatchObject([{ code: 1106 }]);
    await t.restart();
    expect((await t.owner.call("config/list", { repo: "shop" })).errors).toMatchObject([{ code: 1106 }]);
    await saveByRename(t.repositoryFile("shop"), shopText);
    await untilHealth(t, "shop", health => health.length === 0);
    expect((await historyOf(t, "shop")).result).toMatchObject([
      { revision: 1, source: "file", changes: { svc: { timeout: { value: 30 } } } },
    ]);
  });
});

test("an edit made while no daemon ran that changes only comments makes no revision", async () => {
  await using shop = await startShop();
  await shop.set({ "svc.timeout": 31 });
  const { result } = await historyOf(shop.t, "shop");
  await shop.t.daemon.close();
  await writeFile(shop.file, (await shop.read()).replace("half a minute", "a comment of another kind"));
  await shop.t.restart();
  expect((await historyOf(shop.t, "shop")).result).toEqual(result);
});
