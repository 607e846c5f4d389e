import { expect, test } from "vitest";
import { until } from "../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../helpers/file-system.ts";
import { startShop } from "../helpers/shop.ts";
import { TestClock } from "../helpers/test-clock.ts";

test.each(["EPERM", "EBUSY"])(
  "a journal that refuses a record with %s is told at once: the set was held up for 7.5 s, in which nothing was tried",
  async code => {
    const clock = new TestClock();
    const fileSystem = watchFileSystem();
    await using shop = await startShop(undefined, { fileSystem, clock });
    fileSystem.before = ({ operation, path }) => {
      if (operation === "datasync" && path.endsWith(".jsonl")) throw systemError(code);
    };
    const reply = shop.set({ "svc.timeout": 31 });
    let answered = false;
    void reply.finally(() => {
      answered = true;
    });
    // The clock stands still: whoever waits for it would wait for good.
    await until(() => answered || clock.waiting(2_000) > 0, "an answer, or a wait for one");
    const wasAtOnce = answered;
    await until(() => {
      clock.advance(2_000);
      return answered;
    }, "the answer");
    expect(wasAtOnce).toBe(true);
    expect((await reply).errors).toMatchObject([{ code: 1108, details: { cause: code } }]);
    fileSystem.before = () => {};
    expect((await shop.set({ "svc.timeout": 32 })).errors).toEqual([]);
  },
);
