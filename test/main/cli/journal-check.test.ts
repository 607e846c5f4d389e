import { expect, test } from "vitest";
import { checkJournals } from "../../../main/cli/doctor/journal-check.ts";
import { homeAt } from "../../../main/home/home.ts";
import { startShop } from "../../helpers/shop.ts";
import { TestClock } from "../../helpers/test-clock.ts";

test("a history that the index is ahead of is well while the log has what it lacks", async () => {
  // The daemon writes no history by itself.
  await using shop = await startShop(undefined, { clock: new TestClock() });
  const { t } = shop;
  await t.addRepository("other");
  for (const timeout of [31, 32]) await t.owner.call("config/set", { repo: "shop", "svc.timeout": timeout });
  // Writes the index.
  await t.owner.call("repo/remove", { repo: "other" });
  const findings = await checkJournals(homeAt(t.homeFolder), { running: true, onProgress: () => {} });
  expect(findings).toMatchObject([{ result: "good", message: "2 journals with 2 revisions, all intact" }]);
});
