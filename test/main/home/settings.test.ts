import { mkdir, rm, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { homeAt } from "../../../main/home/home.ts";
import { Settings } from "../../../main/home/settings.ts";
import { until } from "../../helpers/daemon.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";
import { TestClock } from "../../helpers/test-clock.ts";

const listed = JSON.stringify({ origins: ["http://localhost:5173"] });
const other = JSON.stringify({ origins: ["http://localhost:5174"] });

async function openSettings(text?: string) {
  const folder = await temporaryFolder();
  const home = homeAt(folder.path);
  await mkdir(home.temporary, { recursive: true });
  if (text !== undefined) await writeFile(home.settingsFile, text);
  const clock = new TestClock();
  const problems: string[] = [];
  const settings = await Settings.open(home, clock, problem => void problems.push(problem));
  return {
    file: home.settingsFile,
    clock,
    problems,
    settings,
    /** Lets the pauses pass until the file is accepted. */
    finish: async (reload: Promise<void>) => {
      let isDone = false;
      const done = reload.finally(() => {
        isDone = true;
      });
      await until(() => {
        if (clock.waiting() > 0) clock.advance(100);
        return isDone;
      }, "the settings");
      await done;
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test("a reload waits for settings that an editor deletes or writes in steps while it saves, and reports nothing", async () => {
  await using t = await openSettings(listed);
  for (const unfinished of [undefined, "", other.slice(0, 10)]) {
    await writeFile(t.file, listed);
    await t.finish(t.settings.reload());
    if (unfinished === undefined) await rm(t.file);
    else await writeFile(t.file, unfinished);
    const reload = t.settings.reload();
    await until(() => t.clock.waiting() === 1, "the first pause");
    expect(t.settings.values).toEqual(JSON.parse(listed));
    await writeFile(t.file, other);
    await t.finish(reload);
    expect(t.settings.values).toEqual(JSON.parse(other));
  }
  expect([t.problems, t.settings.problem]).toEqual([[], undefined]);
});

test("a start without settings does not wait", async () => {
  // This clock stands still: a pause would never end.
  await using t = await openSettings();
  expect(t.settings.values).toEqual({});
});
