import { mkdirSync, renameSync } from "node:fs";
import { rename, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { halfAFile } from "../../../helpers/broken-file.ts";
import { noRescans, startTestDaemon, type TestDaemon } from "../../../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../../../helpers/file-system.ts";

/* A journal that could not be opened when its repository was first read was never opened again. */

/** A daemon that has run: `svc.timeout` of `shop` was set to these (revisions 2, 3, 4). Its journal cannot be opened. */
async function restartWithoutJournal(code: string, index: "with" | "without", timeouts = [10, 20, 30]) {
  const fileSystem = watchFileSystem();
  const t = await startTestDaemon({ ...noRescans, fileSystem });
  await t.addRepository("shop");
  for (const timeout of timeouts) await t.owner.call("config/set", { repo: "shop", "svc.timeout": timeout });
  const { restart } = t;
  await t.daemon.close();
  // Without the index, only the journal knows the revisions.
  if (index === "without") await rm(join(t.homeFolder, "index.json"));
  fileSystem.before = ({ operation, path }) => {
    if (operation === "open" && path.includes("/journal/")) throw systemError(code);
  };
  await restart();
  return {
    t,
    /** From now on, the journal can be opened. */
    lift: () => {
      fileSystem.before = () => {};
    },
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

const codesOf = ({ errors }: { readonly errors: readonly { readonly code: number }[] }) =>
  errors.map(({ code }) => code);

async function pastTimeouts(t: TestDaemon): Promise<unknown> {
  const { result, errors } = await t.owner.call("history/list", { repo: "shop" });
  expect(errors).toEqual([]);
  return result.map(({ revision, changes }) => [revision, changes]);
}

const timeout = (value: number, previous: number) => ({ svc: { timeout: { value, stored: true, previous } } });
const whole = [
  [4, timeout(30, 20)],
  [3, timeout(20, 10)],
  [2, timeout(10, 900)],
  [1, {}],
];

test.each([["EMFILE", "with"] as const, ["EACCES", "without"] as const])(
  "a journal that could not be opened at first (%s, %s the index) refuses with 1108 whatever would erase or guess its content, serves the values, and is complete once it can be opened",
  async (code, index) => {
    await using restarted = await restartWithoutJournal(code, index);
    const { t, lift } = restarted;
    const list = await t.owner.call("config/list", { repo: "shop", stored: true });
    expect(list).toMatchObject({ result: { svc: { timeout: 30 } }, errors: [] });
    const { result } = await t.owner.call("file/read", { repo: "shop" });
    for (const [name, args] of [
      ["history/forget", { field: "svc.domain" }],
      ["history/list", {}],
      ["config/list", { revision: 3 }],
      ["config/set", { "svc.timeout": 31 }],
      ["file/write", { text: "{}", expected: result.text }],
      ["file/restore", {}],
    ] as const)
      expect(codesOf(await t.owner.call(name, { repo: "shop", ...args }))).toEqual([1108]);
    expect(await t.readRepository("shop")).toBe(result.text);
    lift();
    expect(await t.owner.call("config/list", { repo: "shop" })).toMatchObject({ revision: 4, errors: [] });
    expect(await pastTimeouts(t)).toEqual(whole);
    const past = await t.owner.call("config/list", { repo: "shop", revision: 3, stored: true });
    expect(past).toMatchObject({ result: { svc: { timeout: 20 } }, errors: [] });
    expect(codesOf(await t.owner.call("history/forget", { repo: "shop", field: "svc.domain" }))).toEqual([]);
    expect(await pastTimeouts(t)).toEqual([[4, {}], ...whole]);
  },
);

test("a journal with a readable end and unreadable records gets no invented revision", async () => {
  const fileSystem = watchFileSystem();
  await using t = await startTestDaemon({ ...noRescans, fileSystem });
  await t.addRepository("shop");
  for (const timeout of [10, 20, 30]) await t.owner.call("config/set", { repo: "shop", "svc.timeout": timeout });
  await t.daemon.close();
  // A broken file, so that the last valid values must come from the records.
  await writeFile(t.repositoryFile("shop"), halfAFile);
  let journal = "";
  fileSystem.before = ({ operation, path }) => {
    if (operation !== "close" || !path.includes("/journal/")) return;
    fileSystem.before = () => {};
    // A folder in its place cannot be read, not even by root.
    journal = path;
    renameSync(journal, `${journal}.away`);
    mkdirSync(journal);
  };
  await t.restart();
  await t.owner.call("config/list", { repo: "shop" });
  await writeFile(t.repositoryFile("shop"), `{ "name": "shop", "config": { "svc": { "timeout": 40 } } }`);
  expect(codesOf(await t.owner.call("config/set", { repo: "shop", "svc.refresh_day": 3 }))).toEqual([1108]);
  expect(codesOf(await t.owner.call("history/list", { repo: "shop" }))).toEqual([1108]);
  expect(codesOf(await t.owner.call("history/forget", { repo: "shop", field: "svc.domain" }))).toEqual([1108]);
  await rmdir(journal);
  await rename(`${journal}.away`, journal);
  expect(codesOf(await t.owner.call("config/set", { repo: "shop", "svc.refresh_day": 3 }))).toEqual([]);
  expect(await pastTimeouts(t)).toEqual([
    [6, { svc: { refresh_day: { value: 3, stored: true, previous: 0 } } }],
    [5, timeout(40, 30)],
    ...whole,
  ]);
});

test("a set is refused while its history cannot be read, even if nothing is stored yet", async () => {
  await using restarted = await restartWithoutJournal("EACCES", "with", []);
  const { t, lift } = restarted;
  const set = () => t.owner.call("config/set", { repo: "shop", flush: true, "svc.timeout": 5 });
  expect(codesOf(await set())).toEqual([1108]);
  lift();
  expect(await set()).toMatchObject({ result: [{ revision: 2, mirrored: true }], errors: [] });
  const { result } = await t.owner.call("history/list", { repo: "shop" });
  expect(result.map(({ revision }) => revision)).toEqual([2, 1]);
});
