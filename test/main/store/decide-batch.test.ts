import fc from "fast-check";
import { expect, test } from "vitest";
import { compileScope, Scopes } from "../../../main/scopes/scopes.ts";
import { type Decided, decidingBatch, type WaitingChange } from "../../../main/store/state/decide-batch.ts";
import type { RepositoryState } from "../../../main/store/types.ts";
import { interpretConfig, interpretingConfig } from "../../../main/store/values/interpret.ts";
import type { Config, ConfigEdit } from "../../../shared/config.ts";
import type { JsonValue } from "../../../shared/json.ts";
import { runToEnd } from "../../../shared/run-to-end.ts";
import { inParts } from "../../helpers/parts.ts";

const service = { ready: "true", image: "node:24" };

function waiting(edits: readonly ConfigEdit[]): WaitingChange {
  const decide = () => ({ edits, answer: undefined });
  return { request: { actor: { kind: "file" }, source: "set", decide }, settle: () => {} };
}

const deciding = (batch: readonly WaitingChange[], state: RepositoryState, config: Config, scopes: Scopes) => {
  const committed = { lineage: "", revision: state.revision, position: undefined, target: config, valid: config };
  const entry = { kind: "commit", time: "2026-01-01T00:00:00.000Z", actor: { kind: "file" }, source: "set" } as const;
  return decidingBatch(batch, { state, committed }, rulesOf(scopes), () => entry);
};
const decideBatch = (...given: Parameters<typeof deciding>) => runToEnd(deciding(...given));
const changesOf = (decided: Decided | undefined) => decided?.proposed?.applied.record?.changes;
const rulesOf = (scopes: Scopes) => ({ scopes, isTrusted: () => true });

function stateOf(config: Config, scopes: Scopes): RepositoryState {
  const { stored, health } = interpretConfig(config, undefined, rulesOf(scopes));
  return { id: "shop", name: "shop", inTree: false, revision: 1, position: undefined, stored, health };
}

const editsOf = (scope: string, fields: readonly string[], ...values: readonly (JsonValue | undefined)[]) =>
  fc.record({ scope: fc.constant(scope), field: fc.constantFrom(...fields), value: fc.constantFrom(...values) });
const anyEdit: fc.Arbitrary<ConfigEdit> = fc.oneof(
  editsOf("svc", ["timeout", "unknown"], 1, 30, -1, "no number", undefined),
  editsOf("svc", ["default"], "web", "db", "", undefined),
  editsOf("svc", ["services"], { web: service }, { web: service, db: service }, {}, undefined),
  editsOf("gone", ["a"], 1, undefined),
);

test("checking only the edits gives the same result as checking the whole configuration", () => {
  const scopes = new Scopes();
  const config: Config = { svc: { timeout: 30, services: { web: service }, default: "web" } };
  const isSameEither = (batch: readonly (readonly ConfigEdit[])[]) => {
    const state = stateOf(config, scopes);
    expect(state.stored).toBe(config);
    const changes = batch.map(waiting);
    const edited = decideBatch(changes, state, config, scopes);
    // Another object with the same values: nothing shows that all of them are active.
    const whole = decideBatch(changes, { ...state, stored: structuredClone(config) }, config, scopes);
    expect(edited.committed).toEqual(whole.committed);
    for (const [index, one] of edited.decided.entries()) {
      const other = whole.decided[index];
      expect(one.after).toEqual(other?.after);
      expect(new Set(changesOf(one))).toEqual(new Set(changesOf(other)));
      expect(one.proposed?.applied.edits).toEqual(other?.proposed?.applied.edits);
    }
  };
  fc.assert(fc.property(fc.array(fc.array(anyEdit, { maxLength: 4 }), { maxLength: 4 }), isSameEither), {
    numRuns: 500,
  });
});

test("a set among thousands of fields reads each of them at most once, to copy it", () => {
  const names = Array.from({ length: 2_000 }, (_, index) => `field_${index}`);
  const properties = Object.fromEntries(names.map(name => [name, { type: "integer", default: 0 }] as const));
  const scopes = new Scopes();
  scopes.set(compileScope("wide", { type: "object", properties }));
  let reads = 0;
  const fields = new Proxy(Object.fromEntries(names.map((name, index) => [name, index])), {
    get: (target, name) => {
      reads += 1;
      return Reflect.get(target, name);
    },
  });
  const config: Config = { wide: fields };
  const state = stateOf(config, scopes);
  reads = 0;
  const { decided } = decideBatch([waiting([{ scope: "wide", field: "field_7", value: 70 }])], state, config, scopes);
  expect(changesOf(decided[0])).toEqual([{ scope: "wide", field: "field_7", before: 7, after: 70 }]);
  expect(decided[0]?.after.stored).toBe(decided[0]?.after.stored);
  expect(reads).toBeLessThan(names.length + 20);
});

test("a set beside thousands of unknown fields is decided in parts", () => {
  const scopes = new Scopes();
  const unknown = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field${index}`, index]));
  const config: Config = { svc: unknown };
  const edit = { scope: "svc", field: "timeout", value: 30 };
  const steps = deciding([waiting([edit])], stateOf(config, scopes), config, scopes);
  const { parts, result } = inParts(steps);
  expect(parts).toBeGreaterThanOrEqual(5);
  expect(changesOf(result.decided[0])).toEqual([{ scope: "svc", field: "timeout", after: 30 }]);
});

test("values that take long to check are checked in parts", () => {
  const scopes = new Scopes();
  const rules = Array.from({ length: 100 }, (_, index) => ({ type: "integer", minimum: -index }));
  const field = { type: "array", items: { allOf: rules }, default: [] };
  const names = Array.from({ length: 10 }, (_, index) => `field${index}`);
  scopes.set(
    compileScope("costly", { type: "object", properties: Object.fromEntries(names.map(name => [name, field])) }),
  );
  const value = Array.from({ length: 500 }, () => 1);
  const config = { costly: Object.fromEntries(names.map(name => [name, value])) };
  // Active values do not use up the budget that all values share.
  const { parts, result } = inParts(interpretingConfig(config, config, rulesOf(scopes)));
  expect(parts).toBeGreaterThanOrEqual(5);
  expect(result.health).toEqual([]);
});
