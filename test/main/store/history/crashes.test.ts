import { expect, test } from "vitest";
import { noRescans, startTestDaemon } from "../../../helpers/daemon.ts";
import { type FileCall, watchFileSystem } from "../../../helpers/file-system.ts";
import { freezeHome } from "../../../helpers/frozen-home.ts";
import { saveByRename, shopText, startShop } from "../../../helpers/shop.ts";

/** Whether the call changes what a kill leaves: all others find the files as the next of these does. */
const isChange = ({ operation }: FileCall) =>
  ["write", "writeFile", "truncate", "rename", "unlink"].includes(operation);

/** The state of a home that was left by a crash, which two starts must agree on. */
async function settled(home: string) {
  const states: unknown[] = [];
  for (const _ of [1, 2]) {
    await using t = await startTestDaemon({ home, ...noRescans });
    const { result, revision, errors } = await t.owner.call("config/list", { repo: "shop" });
    expect(errors).toEqual([]);
    const history = await t.owner.call("history/list", { repo: "shop" });
    expect(history.errors).toEqual([]);
    expect(t.log.filter(line => line.includes("damaged"))).toEqual([]);
    const [newest] = history.result;
    // File and journal agree, and every revision exists once.
    expect(newest?.revision).toBe(revision);
    expect(history.result.map(entry => entry.revision)).toEqual(
      Array.from({ length: revision ?? 0 }, (_, index) => (revision ?? 0) - index),
    );
    const timeout = result["svc"]?.["timeout"];
    expect(await t.readRepository("shop")).toContain(`"timeout": ${timeout}`);
    const changes = history.result.map(entry => [entry.source, entry.changes["svc"]?.["timeout"]?.value]);
    states.push({ timeout, revision, changes });
  }
  expect(states[1]).toEqual(states[0]);
  return states[0];
}

test("a crash before each change of a file while recording a hand edit leaves it as one revision of source file", async () => {
  const fileSystem = watchFileSystem();
  await using shop = await startShop(undefined, { fileSystem });
  for (const timeout of [31, 32]) await shop.set({ "svc.timeout": timeout });
  const frozen: Awaited<ReturnType<typeof freezeHome>>[] = [];
  let armed = false;
  fileSystem.before = async call => {
    if (armed && isChange(call)) frozen.push(await freezeHome(shop.t.homeFolder));
  };
  await shop.t.owner.nextChange();
  await shop.t.owner.nextChange();
  armed = true;
  await saveByRename(shop.file, shopText.replace("30", "44"));
  expect(await shop.t.owner.nextChange()).toMatchObject({ revision: 4, source: "file" });
  await shop.read();
  armed = false;
  expect(frozen.length).toBeGreaterThan(1);
  const changes = [
    ["file", 44],
    ["set", 32],
    ["set", 31],
    ["file", 30],
  ];
  for (const home of frozen) {
    expect(await settled(home.path)).toEqual({ timeout: 44, revision: 4, changes });
    await home[Symbol.asyncDispose]();
  }
});
