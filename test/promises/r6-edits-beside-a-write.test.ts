import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { until } from "../helpers/daemon.ts";
import { type FileCall, watchFileSystem } from "../helpers/file-system.ts";
import { judge } from "../helpers/promise.ts";
import { shopText, startShop } from "../helpers/shop.ts";
import { waysOfSaving } from "../helpers/ways-of-saving.ts";

/** The file calls of one set so far, each as a step of the write. */
function stepsOf(calls: readonly FileCall[], file: string, homeFolder: string): string[] {
  return calls.map(({ operation, path }) => {
    if (operation === "readNow") return "last check";
    return path === file ? operation : `${operation} ${path.slice(homeFolder.length)}`;
  });
}

test.each(waysOfSaving)(
  "R6 an edit at any step of a write ends up in the file with the set, also between the last check and the rename (%s)",
  async (name, save) => {
    const fileSystem = watchFileSystem();
    const text = shopText.replace(`"refresh_day": 2`, `"refresh_day": 2,\n      "domain": "hand.test"`);
    await using shop = await startShop(text, { fileSystem });
    const { file } = shop;
    const first = fileSystem.calls.length;
    expect((await shop.set({ "svc.timeout": 99 })).errors).toEqual([]);
    // The steps of a write. A single word is a check of the file by the watcher.
    const steps = stepsOf(fileSystem.calls.slice(first), file, shop.t.homeFolder).filter(step => step.includes(" "));
    const afterLastCheck = "after the last check";
    const missing = new Set([...steps, afterLastCheck]);
    expect(steps).toEqual(
      expect.arrayContaining([
        "open /tmp/shop.json",
        "writeFile /tmp/shop.json",
        "sync /tmp/shop.json",
        "write /journal/shop.0-0.jsonl",
        "datasync /journal/shop.0-0.jsonl",
        "last check",
        "rename /tmp/shop.json",
        "sync /repos",
      ]),
    );
    const wrong: string[] = [];
    // Not every write has every step.
    for (let round = 0; missing.size > 0; round++) {
      expect(round).toBeLessThan(300);
      const wanted = [...missing][round % missing.size];
      const text = readFileSync(file, "utf8");
      const edited = text.replace(/hand.*test/, `hand${round}.test`).replace(/(half a minute.*)/, "$1.");
      const withSet = (of: string) => of.replace(/"timeout": \d+/, `"timeout": ${100 + round}`);
      let reached: string | undefined;
      const saveAt = (step: string | undefined) => {
        if (step !== wanted || reached !== undefined) return;
        reached = step;
        save(file, edited);
      };
      fileSystem.before = call => saveAt(stepsOf([call], file, shop.t.homeFolder)[0]);
      fileSystem.after = ({ operation }) => saveAt(operation === "readNow" ? afterLastCheck : undefined);
      expect((await shop.set({ "svc.timeout": 100 + round })).errors).toEqual([]);
      fileSystem.before = () => {};
      fileSystem.after = () => {};
      if (reached === undefined) continue;
      missing.delete(reached);
      // Only the values of the replaced file are merged; its comments are lost.
      const isBoth = (now: string) =>
        now === withSet(edited) ||
        (reached === afterLastCheck && now.includes(`hand${round}.test`) && now === withSet(now));
      try {
        await until(() => isBoth(readFileSync(file, "utf8")), `edit and set in the file (${reached})`);
        await until(async () => (await shop.value("domain")) === `hand${round}.test`, `the active edit (${reached})`);
      } catch (error) {
        wrong.push(String(error));
        break;
      }
      if ((await shop.value("timeout")) !== 100 + round) wrong.push(`${reached}: the set is lost`);
    }
    const note = `${name}: an edit at each step of a write, and between its last check and the rename`;
    judge("R6", new Set(steps).size + 1, wrong, note);
    expect(new Set(shop.sources())).toEqual(new Set(["file", "merge", "set"]));
  },
);
