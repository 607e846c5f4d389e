import { expect, test } from "vitest";
import { startTestDaemon } from "../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../helpers/file-system.ts";
import { startShop } from "../helpers/shop.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";
import { TestClock } from "../helpers/test-clock.ts";

test.each(["EPERM", "EBUSY"])(
  "a journal that refuses a record with %s delays no set, and is reported immediately (it used to take 7.5 s without a retry)",
  async code => {
    const clock = new TestClock();
    const fileSystem = watchFileSystem();
    await using shop = await startShop(undefined, { fileSystem, clock });
    fileSystem.before = ({ operation, path }) => {
      if (operation === "datasync" && path.endsWith(".jsonl")) throw systemError(code);
    };
    // The clock stands still: waiting for it would never end.
    const reply = shop.set({ "svc.timeout": 31 });
    expect(await reply).toMatchObject({ result: [{ mirrored: false, mirrorProblem: code }], errors: [] });
    expect(await shop.value("timeout")).toBe(31);
    fileSystem.before = () => {};
    expect(await shop.set({ "svc.timeout": 32 })).toMatchObject({ result: [{ mirrored: true }], errors: [] });
  },
);

test("a commit that one history could not store is still in the log at the next start, even if other repositories are done with it", async () => {
  const fileSystem = watchFileSystem();
  await using home = await temporaryFolder();
  const options = { home: home.path, fileSystem, rescanInterval: 3_600_000 };
  const t = await startTestDaemon(options);
  for (const id of ["one", "other"]) await t.addRepository(id);
  await t.owner.call("file/read", { repo: "one" });
  fileSystem.before = ({ operation, path }) => {
    if (operation === "datasync" && path.includes("one.0-")) throw systemError("EIO");
  };
  const { result } = await t.owner.call("config/set", { repo: "one", flush: true, "svc.timeout": 31 });
  expect(result).toMatchObject([{ mirrored: false, mirrorProblem: "EIO" }]);
  await t.owner.call("config/set", { repo: "other", flush: true, "svc.timeout": 32 });
  await t[Symbol.asyncDispose]();
  fileSystem.before = () => {};
  await using again = await startTestDaemon(options);
  const list = await again.owner.call("config/list", { repo: "one", field: "svc.timeout" });
  expect(list.result).toEqual({ svc: { timeout: 31 } });
  const history = await again.owner.call("history/list", { repo: "one", limit: 1 });
  expect(history.result).toMatchObject([{ revision: 2, source: "set", actor: "owner" }]);
});
