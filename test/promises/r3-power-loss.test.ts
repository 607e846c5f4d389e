import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseJsonText } from "../../main/files/json-text.ts";
import { anyOrder, CallOrder, type ChooseCall, last } from "../helpers/call-order.ts";
import { noRescans, startTestDaemon, until } from "../helpers/daemon.ts";
import { watchFileSystem } from "../helpers/file-system.ts";
import { PowerLoss } from "../helpers/power-loss.ts";
import { amount, judge, seed } from "../helpers/promise.ts";
import { randomNumbers } from "../helpers/random.ts";
import { shopText } from "../helpers/shop.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";
import { TestClock } from "../helpers/test-clock.ts";

interface Scenario {
  readonly name: string;
  readonly settings?: string;
  /** The timeouts that are set before the recording. */
  readonly before: readonly number[];
  /** What is recorded; 99 is the new timeout. */
  readonly how: "set" | "sets side by side" | "one set after the other";
  /** The segment of the journal that the recording begins. */
  readonly begins?: string;
  /** First, it is recorded that the write before it is complete; not durably. */
  readonly isLater?: true;
}

const scenarios: readonly Scenario[] = [
  { name: "a set", before: [31, 32], how: "set" },
  { name: "the first set of all", before: [], how: "set" },
  // A segment is a tenth of what is kept, two revisions: here one begins with 2, and the next with 4.
  {
    name: "a set that begins a segment",
    settings: `{ "history": { "revisions": 20 } }`,
    before: [31, 32, 33],
    how: "set",
    begins: "shop.0-4.jsonl",
  },
  { name: "a set a while after the last one", before: [31, 32], how: "set", isLater: true },
  { name: "a set while the file of another is written", before: [31, 32], how: "one set after the other" },
  { name: "three sets side by side", before: [31, 32], how: "sets side by side" },
];

interface Outcome {
  readonly states: number;
  readonly wrong: readonly string[];
  readonly seen: ReadonlySet<unknown>;
}

/** Journal and file are written in parallel, and either may reach the disk first. */
const orders: readonly ChooseCall[] = [
  last("journal"),
  last("tmp"),
  ...Array.from({ length: amount(0, 4) }, (_, index) => anyOrder(randomNumbers(seed + index))),
];

/** Records the scenario in every order, and opens every home that a power loss may leave. */
async function loseInEveryOrder(scenario: Scenario, most: number): Promise<Outcome> {
  const seen = new Set<string>();
  const outcomes: Outcome[] = [];
  for (const order of orders) outcomes.push(await lose(scenario, order, most, seen));
  return {
    states: outcomes.reduce((sum, { states }) => sum + states, 0),
    wrong: outcomes.flatMap(({ wrong }) => wrong),
    seen: new Set(outcomes.flatMap(outcome => [...outcome.seen])),
  };
}

async function lose(
  { name, settings = "{}", before, how, begins, isLater }: Scenario,
  choose: ChooseCall,
  most: number,
  known: Set<string>,
): Promise<Outcome> {
  await using folder = await temporaryFolder();
  const home = folder.path;
  const watched = watchFileSystem();
  const loss = new PowerLoss(home, watched);
  const files = { "settings.json": settings, "repos/shop.json": shopText };
  const clock = isLater && new TestClock();
  const options = { home, files, fileSystem: loss.fileSystem, ...noRescans, ...(clock && { clock }) };
  await using t = await startTestDaemon(options);
  await t.owner.call("config/watch", { repo: "shop" });
  for (const timeout of before) await t.owner.call("config/set", { repo: "shop", flush: true, "svc.timeout": timeout });
  await t.readRepository("shop");
  const segments = await readdir(join(home, "journal"));
  await using _vault = await loss.begin();
  const journal = join(home, "journal/shop.0-0.jsonl");
  if (clock) {
    const { size } = await stat(journal);
    clock.advance(1_000);
    // Waits for what is due by now, and syncs what is appended.
    await t.owner.call("file/read", { repo: "shop" });
    clock.advance(1_000);
    await until(async () => (await stat(journal)).size > size, "the record that the write is complete");
  }
  const order = new CallOrder(choose);
  const heard = Promise.withResolvers<void>();
  let isFollowed = how !== "one set after the other";
  watched.before = async call => {
    if (!isFollowed && call.operation === "open" && call.path === join(home, "tmp/shop.json")) {
      isFollowed = true;
      // The file of the first set is about to be written.
      expect((await set({ "svc.timeout": 99 })).errors).toEqual([]);
      loss.acknowledge();
      heard.resolve();
    }
    await order.turnOf(call);
    // Delays the rename until the acknowledgement, so that every later state must contain everything acknowledged.
    if (call.operation === "rename") await heard.promise;
  };
  watched.ended = call => order.ended(call);
  const set = (fields: object) => t.owner.call("config/set", { repo: "shop", ...fields });
  if (how === "sets side by side") {
    const replies = await Promise.all([
      set({ "svc.timeout": 99 }),
      set({ "svc.domain": "a.test" }),
      set({ "svc.provider": "us" }),
    ]);
    expect(replies.flatMap(({ errors }) => errors)).toEqual([]);
  } else expect((await set({ "svc.timeout": how === "set" ? 99 : 98 })).errors).toEqual([]);
  if (how === "one set after the other") await heard.promise;
  else {
    loss.acknowledge();
    heard.resolve();
  }
  // After history and file are written, nothing needs the log any more.
  await t.readRepository("shop");
  const begun = (await readdir(join(home, "journal"))).filter(segment => !segments.includes(segment));
  expect(begun).toEqual(begins === undefined ? [] : [begins]);
  await t[Symbol.asyncDispose]();
  loss.end();
  watched.before = () => {};
  watched.ended = () => {};

  const wrong: string[] = [];
  const seen = new Set<unknown>();
  let states = 0;
  const old = before.at(-1) ?? 30;
  for (const state of loss.states(randomNumbers(seed), most, known)) {
    states++;
    const note = (what: string) => wrong.push(`${name}, ${state.label}: ${what}`);
    await using lost = await loss.make(state);
    const fileText = state.contents.get(state.files.get("repos/shop.json") ?? 0)?.toString() ?? "";
    try {
      parseJsonText(fileText);
    } catch (error) {
      note(`the file does not parse: ${error}`);
    }
    const first = await opened(lost.path, note);
    seen.add(first.timeout);
    const allowed = state.isAcknowledged ? [99] : [old, ...(how === "one set after the other" ? [98] : []), 99];
    if (!allowed.includes(Number(first.timeout))) note(`the timeout is ${first.timeout}`);
    const { domain, provider } = first.config["svc"] ?? {};
    if (how === "sets side by side" && state.isAcknowledged && (domain !== "a.test" || provider !== "us"))
      note(`the domain is ${domain} and the provider ${provider}`);
    // A second start shows that nothing was merely postponed; the short form makes it for some of the states.
    if (states % amount(4, 1) !== 0) continue;
    const second = await opened(lost.path, note);
    if (JSON.stringify(second) !== JSON.stringify(first))
      note(`${JSON.stringify(first)}, then ${JSON.stringify(second)}`);
  }
  return { states, wrong, seen };
}

/** What a daemon serves from this home; reports contradictions. */
async function opened(home: string, note: (what: string) => void) {
  await using t = await startTestDaemon({ home, ...noRescans });
  const { result, revision, errors } = await t.owner.call("config/list", { repo: "shop", stored: true });
  if (errors.length > 0) note(`list: ${JSON.stringify(errors)}`);
  const history = await t.owner.call("history/list", { repo: "shop" });
  if (history.errors.length > 0) note(`history: ${JSON.stringify(history.errors)}`);
  if (history.result[0]?.revision !== revision)
    note(`at revision ${revision}, the history ends at ${history.result[0]?.revision}`);
  const timeout = result["svc"]?.["timeout"];
  if (!(await t.readRepository("shop")).includes(`"timeout": ${timeout}`)) note(`the file does not contain ${timeout}`);
  const last = history.result.find(({ changes }) => changes["svc"]?.["timeout"] !== undefined);
  if (last?.changes["svc"]?.["timeout"]?.value !== timeout) note("the last value in the history is different");
  // A set whose record reached the disk after its file would be recorded as a revision of source file.
  if (timeout === 99 && last?.source !== "set") note(`the set is reported as one of source ${last?.source}`);
  return { timeout, revision, config: result };
}

test("R3 the file always parses: every state that a power loss may leave opens as the old or the new one", async () => {
  const outcomes: Outcome[] = [];
  for (const scenario of scenarios.slice(0, amount(5, scenarios.length)))
    outcomes.push(await loseInEveryOrder(scenario, amount(4, 10)));
  const wrong = outcomes.flatMap(outcome => outcome.wrong);
  const tried = outcomes.reduce((sum, { states }) => sum + states, 0);
  judge("R3", tried, wrong, `states of the disk, each opened twice; ${orders.length} orders of concurrent operations`);
  // Both the old and the new timeout occurred.
  const [old, fresh, segment] = outcomes;
  expect([old?.seen, fresh?.seen, segment?.seen]).toEqual([32, 30, 33].map(before => new Set([before, 99])));
});
