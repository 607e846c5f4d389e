import { expect, test } from "vitest";
import { until } from "../helpers/daemon.ts";
import { amount, judge } from "../helpers/promise.ts";
import { shopText, startShop } from "../helpers/shop.ts";
import { savingStyles } from "../helpers/ways-of-saving.ts";

test("R11 every way of saving is noticed", async () => {
  const times = amount(3, 100);
  const styles = Object.entries(savingStyles);
  const missed: string[] = [];
  await Promise.all(
    styles.map(async ([style, save]) => {
      await using shop = await startShop();
      for (let time = 1; time <= times; time++) {
        const timeout = 1_000 + time;
        await save(shop.file, shopText.replace("30", `${timeout}`));
        await until(async () => (await shop.value("timeout")) === timeout, "the edit").catch(() => {
          missed.push(`${style}, time ${time}`);
        });
      }
      if ((await shop.health()).length > 0) missed.push(`${style}: ${JSON.stringify(await shop.health())}`);
      const sources = shop.sources();
      // No save counted twice, and none was attributed to another program.
      if (sources.length !== times || sources.some(source => source !== "file"))
        missed.push(`${style}: ${sources.length} changes (${[...new Set(sources)]})`);
    }),
  );
  judge("R11", styles.length * times, missed, `${styles.length} styles, ${times} times each`);
  expect(styles.length).toBeGreaterThanOrEqual(20);
});
