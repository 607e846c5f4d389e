import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { until } from "../../../helpers/daemon.ts";
import { type FileCall, watchFileSystem } from "../../../helpers/file-system.ts";
import { shopText, startShop } from "../../../helpers/shop.ts";

/** The calls of one set, up to the last look at the file before the rename. */
const steps: [step: string, operation: FileCall["operation"], folder: "tmp" | "repos"][] = [
  ["the temporary file is opened", "open", "tmp"],
  ["it is written", "writeFile", "tmp"],
  ["it is synced", "sync", "tmp"],
  ["it is closed", "close", "tmp"],
  ["the last look", "readNow", "repos"],
];

/** A file system that runs `edit` once, when a write comes to this step. */
function editAt(operation: FileCall["operation"], folder: string, edit: () => void) {
  const fileSystem = watchFileSystem();
  let waiting = false;
  fileSystem.before = call => {
    if (!waiting || call.operation !== operation || !call.path.endsWith(`/${folder}/shop.json`)) return;
    waiting = false;
    edit();
  };
  return {
    fileSystem,
    arm: () => {
      waiting = true;
    },
    done: () => !waiting,
  };
}

/** At once: the last look waits for nobody. */
function renameOver(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

const edited = shopText.replace(`"refresh_day": 2`, `"refresh_day": 3, // by hand\n      "domain": "hand.test"`);

describe.concurrent("a hand edit is merged, and nothing overwritten, when it comes just before", () => {
  const cases = steps.flatMap(([step, operation, folder]) => [
    { step, save: "renamed over", operation, folder, write: renameOver },
    { step, save: "written in place", operation, folder, write: writeFileSync },
  ]);
  test.each(cases)("$step ($save)", async ({ operation, folder, write }) => {
    let file = "";
    const { fileSystem, arm, done } = editAt(operation, folder, () => write(file, edited));
    await using shop = await startShop(undefined, { fileSystem });
    ({ file } = shop);
    arm();
    const { result, errors } = await shop.set({ "svc.timeout": 31 });
    expect(done()).toBe(true);
    expect(errors).toEqual([]);
    expect(result).toMatchObject([{ revision: 3, config: { svc: { timeout: { value: 31 } } } }]);
    expect(await shop.read()).toBe(edited.replace("30", "31"));
    expect(await shop.t.owner.nextChange()).toMatchObject({
      revision: 2,
      actor: "file",
      source: "file",
      changes: { svc: { refresh_day: { value: 3, previous: 2 }, domain: { value: "hand.test" } } },
    });
    expect(await shop.t.owner.nextChange()).toMatchObject({
      revision: 3,
      actor: "owner",
      source: "set",
      changes: { svc: { timeout: { value: 31, previous: 30 } } },
    });
  });
});

/** A shop in which someone saves `text` while the next write is being synced. */
async function startShopEditedInBetween(text: string) {
  let file = "";
  const { fileSystem, arm } = editAt("sync", "tmp", () => renameOver(file, text));
  const shop = await startShop(undefined, { fileSystem });
  ({ file } = shop);
  arm();
  return shop;
}

test("a hand edit of the very field that is set: the set comes after it and wins", async () => {
  await using shop = await startShopEditedInBetween(shopText.replace("30", "45"));
  await shop.set({ "svc.timeout": 31 });
  expect(await shop.t.owner.nextChange()).toMatchObject({
    source: "file",
    changes: { svc: { timeout: { value: 45 } } },
  });
  expect(await shop.t.owner.nextChange()).toMatchObject({
    source: "set",
    changes: { svc: { timeout: { value: 31, previous: 45 } } },
  });
  expect(await shop.read()).toBe(shopText.replace("30", "31"));
});

test("a set that names a revision gets 1104 when a hand edit came in between", async () => {
  await using shop = await startShopEditedInBetween(edited);
  const { result, errors } = await shop.t.owner.call("config/set", { repo: "shop", revision: 1, "svc.timeout": 31 });
  expect(result).toEqual([]);
  expect(errors).toMatchObject([{ code: 1104, details: { current: 2 } }]);
  expect(await shop.read()).toBe(edited);
});

test("a set whose rule the hand edit broke is refused", async () => {
  const services = `"services": { "web": { "ready": "true", "image": "web:1" } }`;
  const first = shopText.replace(`"refresh_day": 2`, services);
  let file = "";
  const { fileSystem, arm } = editAt("sync", "tmp", () => renameOver(file, first.replace(services, `"services": {}`)));
  await using shop = await startShop(first, { fileSystem });
  ({ file } = shop);
  arm();
  const { result, errors } = await shop.set({ "svc.default": "web", "svc.timeout": 31 });
  expect(errors).toMatchObject([{ code: 1103, field: "svc.default" }]);
  expect(Object.keys(result[0]?.config["svc"] ?? {})).toEqual(["timeout"]);
  expect(await shop.value("default")).toBe("");
});

test("an edit in between that breaks the file: 1106, and the file stays byte for byte", async () => {
  const broken = edited.replace("{", "{{");
  await using shop = await startShopEditedInBetween(broken);
  const { result, errors } = await shop.set({ "svc.timeout": 31 });
  expect(result).toEqual([]);
  expect(errors).toMatchObject([{ code: 1106 }]);
  expect(await shop.read()).toBe(broken);
  expect(await shop.value("timeout")).toBe(30);
});

test("an edit in between is merged into an atomic set of several repositories too", async () => {
  await using shop = await startShopEditedInBetween(edited);
  await shop.t.addRepository("cellar");
  const args = { repo: ["shop", "cellar"], atomic: true, "svc.timeout": 31 };
  const { result, errors } = await shop.t.owner.call("config/set", args);
  expect(errors).toEqual([]);
  expect(result.map(({ repo }) => repo).sort()).toEqual(["cellar", "shop"]);
  expect(await shop.read()).toBe(edited.replace("30", "31"));
  expect(shop.sources()).toEqual(["file", "set"]);
});

test("the one gap, between last look and rename: the set wins, and daemon and file agree", async () => {
  let file = "";
  const { fileSystem, arm } = editAt("rename", "tmp", () => renameOver(file, edited));
  await using shop = await startShop(undefined, { fileSystem });
  ({ file } = shop);
  arm();
  expect((await shop.set({ "svc.timeout": 31 })).errors).toEqual([]);
  expect(await shop.read()).toBe(shopText.replace("30", "31"));
  expect(await shop.value("domain")).toBe("");
  expect((await shop.set({ "svc.timeout": 32 })).result).toMatchObject([{ revision: 3 }]);
  expect(shop.sources()).toEqual(["set", "set"]);
});

test("4 clients x 50 sets of different fields while a script edits other fields by hand: nothing is lost", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { fileSystem });
  // Between a write's last look and its rename an edit can be lost (the test above); the script keeps out of that gap.
  let gap = false;
  fileSystem.before = ({ operation }) => {
    if (operation === "readNow") gap = true;
  };
  fileSystem.after = ({ operation }) => {
    // A write that finds the file changed goes no further, and looks for itself.
    if (operation === "rename" || operation === "read") gap = false;
  };
  const fields = ["svc.timeout", "svc.domain", "svc.provider", "svc.proxy_url"];
  const values = Array.from({ length: 50 }, (_, index) => index + 1);
  let edits = 0;
  let ended = false;
  const script = async () => {
    while (!ended) {
      // One that never pauses lets no set through until it is given up (docs/protocol.md, "Decided by us").
      await delay(8);
      await until(() => !gap, "the gap to close");
      const text = readFileSync(shop.file, "utf8");
      edits++;
      const next = text
        .replace(/"refresh_day": \d/, `"refresh_day": ${edits % 7}`)
        .replace(/(\/\/ half a minute.*)/, `$1.`);
      renameOver(shop.file, next);
    }
  };
  const clients = await Promise.all(fields.map(() => shop.t.connect()));
  const running = script();
  const sets = fields.map(async (field, index) => {
    for (const value of values) {
      const args = { repo: "shop", [field]: index === 0 ? value : String(value) };
      const reply = await clients[index]?.call("config/set", args);
      expect(reply?.errors).toEqual([]);
      expect(await shop.value(field.slice(4))).toBe(args[field]);
    }
  });
  await Promise.all(sets);
  ended = true;
  await running;
  await until(async () => (await shop.value("refresh_day")) === edits % 7, "the last edit");
  const text = await shop.read();
  for (const field of fields) expect(text).toMatch(new RegExp(`"${field.slice(4)}": "?50\\b`));
  // Each edit left one more dot.
  expect(/half a minute(\.*)/.exec(text)?.[1]).toHaveLength(edits);
  expect(edits).toBeGreaterThan(20);
  const set = shop.t.owner.events.flatMap(([, , payload]) =>
    "source" in payload && payload.source === "set" ? [payload] : [],
  );
  for (const field of fields) {
    const told = set.flatMap(({ changes }) => changes["svc"]?.[field.slice(4)]?.value ?? []);
    expect(told.map(Number)).toEqual(values);
  }
});
