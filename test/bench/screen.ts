import { setTimeout as delay } from "node:timers/promises";
import type { Locator } from "playwright-core";
import { until } from "../helpers/daemon.ts";
import { figureOf } from "./figures.ts";
import { homeWithFields, makeHome } from "./homes.ts";
import type { Machine } from "./machine.ts";
import { startBrowser, type Visit, visit } from "./page.ts";
import type { Row, Section } from "./section.ts";

interface Measured {
  readonly what: string;
  readonly milliseconds: number;
  readonly goal: { readonly text: string; readonly most: number };
}

const shownSoon = { text: "within 300 ms", most: 300 };
const noLongTask = { text: "none over 50 ms", most: 50 };

interface Steps extends Visit {
  /** Tells what is measured now. */
  begin(step: string): void;
}

/** How long a person waits for the screen. A longest task of 50 ms is one of at most that: browsers tell of no shorter ones. */
export const screen: Section = {
  name: "screen",
  title: "The screen in a browser: until something is shown, and the longest task of its page",
  run: async machine => {
    const repositories = machine.short ? 200 : 10_000;
    const fields = machine.short ? 50 : 2_000;
    const many = await makeHome(machine, repositories, index => ({
      name: `repository ${String(index).padStart(5, "0")}`,
      config: index % 3 === 0 ? { svc: { timeout: index, domain: `n${index}.test` } } : {},
    }));
    const wide = await homeWithFields(machine, fields, fieldAt);
    return [
      ...(await inRounds(machine, many, `${repositories.toLocaleString("en")} repositories`, amongRepositories)),
      ...(await inRounds(machine, wide, `${fields.toLocaleString("en")} fields`, amongFields)),
    ];
  },
};

/** Numbers, texts, switches and choices. */
function fieldAt(index: number) {
  const kinds = [
    { schema: { type: "integer", default: 0 }, value: index },
    { schema: { type: "string", default: "" }, value: `text ${index}` },
    { schema: { type: "boolean", default: false }, value: true },
    { schema: { enum: ["one", "two", "three"], default: "one" }, value: "two" },
  ];
  return kinds[index % kinds.length] ?? { schema: {}, value: null };
}

/** In one daemon, as people have it running, but each time in a window that knows nothing yet. */
async function inRounds(
  machine: Machine,
  home: string,
  of: string,
  measure: (steps: Steps) => AsyncGenerator<Measured>,
): Promise<Row[]> {
  const found: Measured[] = [];
  await using daemon = await machine.daemon(home);
  await using browser = await startBrowser(machine);
  if (browser === undefined) {
    machine.progress("left out: there is no browser");
    return [];
  }
  for (let round = 1; round <= (machine.short ? 1 : 3); round += 1) {
    const begin = (step: string) => machine.progress(`${of}, round ${round}: ${step}`);
    begin("opening the screen");
    await using opened = await visit(daemon, browser);
    for await (const one of measure({ ...opened, begin })) found.push(one);
  }
  return Array.from(
    Map.groupBy(found, ({ what }) => what),
    ([what, all]) => {
      const ours = figureOf(all.map(({ milliseconds }) => milliseconds));
      const { text = "", most = 0 } = all[0]?.goal ?? {};
      return { what: `${of}: ${what}`, unit: "ms", ours, goal: { text, met: ours.median <= most } };
    },
  );
}

/** `shown`: milliseconds until what was done is shown; undefined: nothing was waited for. */
async function* step(
  { begin }: Steps,
  what: string,
  measure: () => Promise<{ readonly shown: number | undefined; readonly task: number }>,
): AsyncGenerator<Measured> {
  begin(what);
  const { shown, task } = await measure();
  if (shown !== undefined) yield { what, milliseconds: shown, goal: shownSoon };
  yield { what: `${what}, longest task`, milliseconds: task, goal: noLongTask };
}

/** Types into a control, and takes that back: the daemon keeps what is not saved for the next window. */
async function typeInto({ page }: Steps, control: Locator): Promise<void> {
  const before = await control.inputValue();
  await control.press("End");
  await control.pressSequentially("somebody", { delay: 60 });
  await until(async () => (await control.inputValue()) === `${before}somebody`, "what was typed");
  await delay(500);
  await page.getByRole("button", { name: /^Discard the edit/ }).click();
  await page.getByRole("region", { name: "Edits" }).waitFor({ state: "detached" });
}

async function* amongRepositories(steps: Steps): AsyncGenerator<Measured> {
  const { page, firstRows, measure, scroll } = steps;
  const act = (what: string, ...work: Parameters<Visit["measure"]>) => step(steps, what, () => measure(...work));
  yield* step(steps, "first rows, from the page's script on", firstRows);
  const rows = page.getByRole("treeitem");
  // All of them are there.
  await delay(3_000);
  yield* act("typing in the search", async () => {
    const search = page.getByRole("searchbox", { name: /^Search/ });
    const find = async (query: string, found: RegExp) => {
      await search.fill("");
      await search.pressSequentially(query, { delay: 60 });
      await page.getByRole("treeitem", { name: found }).first().waitFor();
      await delay(500);
    };
    await find("repository 0012", /^repository \d*0012/);
    await isGone(rows, /^repository 00001/);
    await find("timeout", /^Timeout/);
    await find("@modified", /^Domain/);
    await search.fill("");
    await page.getByRole("treeitem", { name: /^repository 00000/ }).waitFor();
    await delay(500);
  });
  yield* act("scrolling", async () => {
    await scroll(page.getByRole("tree"));
    await isGone(rows, /^repository 00001/);
  });
  yield* act("arrows, End and Home", async () => {
    await rows.first().focus();
    for (const key of ["End", "ArrowUp", "ArrowUp", "Home", ...Array<string>(40).fill("ArrowDown")])
      await page.keyboard.press(key);
    // The fortieth after the first.
    const wanted = page.getByRole("treeitem", { name: /^repository 00040/ });
    await wanted.and(page.locator(":focus")).waitFor();
  });
  yield* act("opening one", () => rows.first().click(), ".field");
  yield* act("typing in a field", () => typeInto(steps, page.getByRole("textbox", { name: "Provider" })));
  const showMatrix = () => page.evaluate("location.hash = '#/matrix'");
  yield* act("opening the matrix of all", showMatrix, '[role=gridcell][aria-label^="0 seconds"]');
  yield* act("scrolling the matrix", async () => {
    await scroll(page.getByRole("grid"));
    await isGone(page.getByRole("rowheader"), /^repository 00001/);
  });
}

async function* amongFields(steps: Steps): AsyncGenerator<Measured> {
  const { page, measure, scroll } = steps;
  const act = (what: string, ...work: Parameters<Visit["measure"]>) => step(steps, what, () => measure(...work));
  const second = page.getByRole("textbox", { name: "field_1", exact: true });
  const openIt = () => page.getByRole("treeitem").first().click();
  yield* act("opening their repository", openIt, '[id="field-wide.field_0"]');
  yield* act("scrolling", async () => {
    await scroll(page.getByRole("main"));
    await page.locator('[id="field-wide.field_500"], [id="field-wide.field_49"]').first().waitFor();
    await page.locator('[id="field-wide.field_1"]').scrollIntoViewIfNeeded();
    await second.waitFor();
  });
  yield* act("typing in a field", () => typeInto(steps, second));
  yield* act("typing in the filter", async () => {
    const filter = page.getByRole("searchbox", { name: "Filter fields" });
    await filter.pressSequentially("field_19", { delay: 60 });
    await page.locator('[id="field-wide.field_2"]').waitFor({ state: "detached" });
    await filter.fill("");
    await page.locator('[id="field-wide.field_2"]').waitFor();
    await delay(2_000);
  });
}

/** Waits until such elements are shown, but not the one with this text. (The first one is always in the page: it can have the focus.) */
function isGone(locator: Locator, text: RegExp): Promise<void> {
  return until(async () => {
    const texts = await locator.allInnerTexts();
    return texts.length > 0 && !texts.some(one => text.test(one));
  }, `${text} to be gone`);
}
