import fc from "fast-check";
import { expect, test } from "vitest";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import type { ChangeSource, HistoryEntry } from "../../../shared/protocol.ts";
import { until } from "../../helpers/daemon.ts";
import { amount, seed } from "../../helpers/promise.ts";
import { type Shop, saveByRename, startShop } from "../../helpers/shop.ts";
import { TestClock } from "../../helpers/test-clock.ts";

/** The number of histories, each with its own daemon. */
const runs = amount(3, 200);

/** Values of the scope svc. */
type Values = { readonly [field: string]: JsonValue };

const defaults: Values = { timeout: 900, domain: "", proxy_url: "", proxy_aliases: [], provider: "" };
const fields = Object.keys(defaults);
const accepted: { readonly [field: string]: readonly JsonValue[] } = {
  timeout: [1, 2, 900],
  domain: ["a", "b", ""],
  proxy_url: ["http://a", "http://b"],
  proxy_aliases: [[], ["a"], ["a", "b"]],
  provider: ["p", "q"],
};
const refused: Values = { timeout: "soon", domain: 5, proxy_url: false, proxy_aliases: ["x", "x"], provider: 7 };
function isRefused(field: string, value: JsonValue): boolean {
  if (Array.isArray(value)) return new Set(value).size < value.length;
  return typeof value !== typeof defaults[field];
}

/** A value that no earlier revision had: at a start, an edit that brings back an older one seems to be based on older values. */
function newValue(field: string, value: JsonValue, at: number): JsonValue {
  if (isRefused(field, value)) return field === "proxy_aliases" ? ["x", "x", String(at)] : { at };
  return field === "proxy_aliases" ? [`${at}`] : field === "timeout" ? 1_000 + at : `http://${at}`;
}

type Step =
  | {
      readonly kind: "set" | "edit" | "edit while stopped";
      readonly values: Values;
      readonly removed: readonly string[];
    }
  | { readonly kind: "unset"; readonly fields: readonly string[] }
  | { readonly kind: "restore"; readonly back: number; readonly fields: readonly string[] | undefined }
  | { readonly kind: "break" | "restart" };

const someFields = fc.subarray(fields, { minLength: 1 });
const anyValues: fc.Arbitrary<Values> = someFields.chain(names =>
  fc.record(Object.fromEntries(names.map(name => [name, fc.constantFrom(...(accepted[name] ?? []), refused[name])]))),
) as fc.Arbitrary<Values>;
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom("set", "set", "edit", "edit", "edit while stopped"),
      values: anyValues,
      removed: fc.subarray(fields),
    }),
  },
  fc.record({ kind: fc.constant("unset"), fields: someFields }),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("restore"),
      back: fc.nat(8),
      fields: fc.option(someFields, { nil: undefined }),
    }),
  },
  fc.record({ kind: fc.constantFrom("break", "restart") }),
);

interface Revision {
  readonly stored: Values;
  readonly actor: "file" | "owner";
  readonly source: ChangeSource;
}

const without = (values: Values, names: readonly string[]): Values =>
  Object.fromEntries(Object.entries(values).filter(([field]) => !names.includes(field)));

const otherThan = (names: readonly string[]) => fields.filter(field => !names.includes(field));

/** What is expected: every revision, and the values in the file. */
class Model {
  readonly revisions: Revision[] = [{ stored: {}, actor: "file", source: "file" }];
  file: Values = {};
  isBroken = false;

  get stored(): Values {
    return this.revisions.at(-1)?.stored ?? {};
  }

  get revision(): number {
    return this.revisions.length;
  }

  /** The file now has these values: a new revision if an active value changes. An invalid one leaves the last valid one active. */
  write(file: Values, actor: Revision["actor"], source: ChangeSource): void {
    this.file = file;
    this.isBroken = false;
    const active = Object.entries(file).map(([field, value]) => [
      field,
      isRefused(field, value) ? this.stored[field] : value,
    ]);
    const stored: Values = Object.fromEntries(active.filter(([, value]) => value !== undefined));
    if (!sameJson(stored, this.stored)) this.revisions.push({ stored, actor, source });
  }

  /** Whether the field was changed last by hand; removing what a set has just written seems to be such an edit, too. */
  wasEdited(field: string): boolean {
    const last = this.revisions.findLast(
      ({ stored }, index) => !sameJson(stored[field], this.revisions[index - 1]?.stored[field]),
    );
    return last?.source === "file";
  }

  entry(revision: number): Omit<HistoryEntry, "time"> {
    const { stored, actor, source } = this.revisions[revision - 1] ?? { stored: {}, actor: "file", source: "file" };
    const before = this.revisions[revision - 2]?.stored ?? {};
    const changes = fields
      .filter(field => !sameJson(stored[field], before[field]))
      .map(field => {
        const [value, previous] = [stored, before].map(values => values[field] ?? defaults[field] ?? null);
        return [field, { value, previous, stored: stored[field] !== undefined }];
      });
    return { revision, actor, source, changes: changes.length > 0 ? { svc: Object.fromEntries(changes) } : {} };
  }
}

async function run(step: Step, at: number, model: Model, shop: Shop, clock: TestClock): Promise<void> {
  const { owner } = shop.t;
  const request = async (file: Values, bad: readonly string[], source: ChangeSource, name: string, args: object) => {
    const [resource = "", operation = ""] = name.split("/");
    const { result, errors } = await owner.emit("svc", resource, operation, { repo: "shop", flush: true, ...args });
    const wanted = model.isBroken ? [1106] : bad.map(() => 1103);
    expect(errors.map(({ code }) => code)).toEqual(wanted);
    if (!model.isBroken) model.write(file, "owner", source);
    if (!model.isBroken && Array.isArray(result) && result.length > 0)
      expect(result).toMatchObject([{ repo: "shop", revision: model.revision }]);
  };
  switch (step.kind) {
    case "set": {
      const bad = Object.keys(step.values).filter(field => isRefused(field, step.values[field] ?? null));
      const args = Object.fromEntries(Object.entries(step.values).map(([field, value]) => [`svc.${field}`, value]));
      return request({ ...model.file, ...without(step.values, bad) }, bad, "set", "config/set", args);
    }
    case "unset": {
      const args = { fields: step.fields.map(field => `svc.${field}`) };
      return request(without(model.file, step.fields), [], "unset", "config/unset", args);
    }
    case "restore": {
      const to = Math.max(1, model.revision - step.back);
      const past = model.revisions[to - 1]?.stored ?? {};
      const names = step.fields ?? fields.filter(field => !sameJson(past[field], model.stored[field]));
      const file = { ...without(model.file, names), ...without(past, otherThan(names)) };
      const args = { to, ...(step.fields && { fields: names.map(field => `svc.${field}`) }) };
      return request(file, [], "restore", "history/restore", args);
    }
    case "break":
      await saveByRename(shop.file, "{ half");
      model.isBroken = true;
      break;
    case "restart":
      await shop.t.restart();
      break;
    default: {
      // No set is so recent that the edit may not have known of it.
      clock.advance(2_001);
      const edited = Object.entries(step.values).map(([field, value]) => [field, newValue(field, value, at)]);
      const removed = step.removed.filter(field => model.wasEdited(field));
      const values: Values = { ...without(model.file, removed), ...Object.fromEntries(edited) };
      const isStopped = step.kind === "edit while stopped";
      if (isStopped) await shop.t.daemon.close();
      await saveByRename(shop.file, JSON.stringify({ name: "shop", config: { svc: values } }, null, 2));
      if (isStopped) await shop.t.restart();
      model.write(values, "file", "file");
    }
  }
}

/** Waits until the daemon has noticed everything, and compares its answers with the model. */
async function check(model: Model, shop: Shop, at: number): Promise<void> {
  const { owner } = shop.t;
  const bad = Object.entries(model.file).filter(([field, value]) => isRefused(field, value));
  const codes = model.isBroken ? [1106] : bad.map(() => 1103);
  await until(async () => {
    const health = (await shop.health()).map(({ code }) => code);
    return (await shop.revision()) === model.revision && sameJson(health, codes);
  }, `revision ${model.revision} and the health ${codes}`);
  const list = async (args: object) =>
    (await owner.call("config/list", { repo: "shop", ...args })).result as { readonly svc?: Values };
  expect((await list({})).svc).toMatchObject({ ...defaults, ...model.stored });
  expect((await list({ stored: true })).svc ?? {}).toEqual(model.stored);
  const revision = 1 + ((at * 7) % model.revision);
  expect((await list({ stored: true, revision })).svc ?? {}).toEqual(model.revisions[revision - 1]?.stored);
  const { result: history } = await owner.call("history/list", { repo: "shop", limit: 1_000 });
  const expected = model.revisions.map((_, index) => model.entry(index + 1));
  expect(history.toReversed().map(({ time: _, ...entry }) => entry)).toEqual(expected);
  const field = fields[at % fields.length] ?? "timeout";
  const last = expected.findLast(({ changes }) => changes["svc"]?.[field] !== undefined);
  const { [field]: stored } = model.stored;
  const isLastGood = model.isBroken || bad.some(([name]) => name === field);
  expect((await owner.call("config/explain", { repo: "shop", field: `svc.${field}` })).result).toMatchObject({
    value: stored ?? defaults[field],
    origin: stored === undefined ? "default" : isLastGood ? "lastGood" : "stored",
    ...(last && { revision: last.revision, actor: last.actor, source: last.source }),
  });
}

test(`${runs} random histories agree with a simple model in values, revisions, explanations and events`, {
  timeout: 600_000 + runs * 20_000,
}, async () => {
  const agrees = async (steps: readonly Step[]) => {
    const clock = new TestClock({ timers: "run" });
    await using shop = await startShop(`{ "name": "shop" }`, { clock });
    const model = new Model();
    const seen: number[] = [];
    const hear = () => {
      for (const [resource, , payload] of shop.t.owner.events)
        if (resource === "config" && payload.revision > (seen.at(-1) ?? 1)) seen.push(payload.revision);
    };
    for (const [at, step] of steps.entries()) {
      const { owner } = shop.t;
      hear();
      await run(step, at, model, shop, clock);
      if (shop.t.owner !== owner) await shop.t.owner.call("config/watch", { repo: "shop", since: seen.at(-1) ?? 1 });
      await check(model, shop, at);
    }
    await until(() => {
      hear();
      return (seen.at(-1) ?? 1) === model.revision;
    }, "the last event");
    expect(seen).toEqual(model.revisions.slice(1).map((_, index) => index + 2));
  };
  // Shrinking a history is not worth its time: each step runs for real.
  const options = { numRuns: runs, seed, endOnFailure: true };
  await fc.assert(fc.asyncProperty(fc.array(anyStep, { minLength: 20, maxLength: 40 }), agrees), options);
});
