import fc from "fast-check";
import { expect, test } from "vitest";
import { compileScope, Scopes } from "../../../main/scopes/scopes.ts";
import { decidingBatch, type WaitingChange } from "../../../main/store/repository/decide-batch.ts";
import type { RepositoryState } from "../../../main/store/types.ts";
import { interpretConfig, interpretingConfig } from "../../../main/store/values/interpret.ts";
import type { Config, ConfigEdit } from "../../../shared/config.ts";
import type { JsonValue } from "../../../shared/json.ts";
import { runToEnd } from "../../../shared/run-to-end.ts";
import { inParts } from "../../helpers/parts.ts";

const service = { ready: "true", image: "node:24" };

function waiting(edits: readonly ConfigEdit[]): WaitingChange {
  const decide = () => ({ edits, answer: undefined });
  return { kind: "change", request: { actor: { kind: "file" }, source: "set", decide }, settle: () => {} };
}

const decideBatch = (...given: Parameters<typeof decidingBatch>) => runToEnd(decidingBatch(...given));
const rulesOf = (scopes: Scopes) => ({ scopes, isTrusted: () => true });

function stateOf(config: Config, scopes: Scopes): RepositoryState {
  const { stored, health } = interpretConfig(config, undefined, rulesOf(scopes));
  return { id: "shop", name: "shop", inTree: false, revision: 1, position: undefined, stored, health };
}

const anyEdit: fc.Arbitrary<ConfigEdit> = fc.oneof(
  fc.record({
    scope: fc.constant("svc"),
    field: fc.constantFrom("timeout", "unknown"),
    value: fc.constantFrom<JsonValue | undefined>(1, 30, -1, "no number", undefined),
  }),
  fc.record({
    scope: fc.constant("svc"),
    field: fc.constant("default"),
    value: fc.constantFrom<JsonValue | undefined>("web", "db", "", undefined),
  }),
  fc.record({
    scope: fc.constant("svc"),
    field: fc.constant("services"),
    value: fc.constantFrom<JsonValue | undefined>({ web: service }, { web: service, db: service }, {}, undefined),
  }),
  fc.record({
    scope: fc.constant("gone"),
    field: fc.constant("a"),
    value: fc.constantFrom<JsonValue | undefined>(1, undefined),
  }),
);

test("checking only the edits gives the same result as checking the whole configuration", () => {
  const scopes = new Scopes();
  const config: Config = { svc: { timeout: 30, services: { web: service }, default: "web" } };
  const isSameEither = (batch: readonly (readonly ConfigEdit[])[]) => {
    const state = stateOf(config, scopes);
    expect(state.stored).toBe(config);
    const changes = batch.map(waiting);
    const edited = decideBatch(changes, state, config, rulesOf(scopes));
    // Another object with the same values: nothing shows that all of them are active.
    const whole = decideBatch(changes, { ...state, stored: structuredClone(config) }, config, rulesOf(scopes));
    expect(edited.config).toEqual(whole.config);
    for (const [index, one] of edited.decided.entries()) {
      const other = whole.decided[index];
      expect(one.after).toEqual(other?.after);
      expect(new Set(one.changes)).toEqual(new Set(other?.changes));
      expect(one.edits).toEqual(other?.edits);
    }
  };
  fc.assert(fc.property(fc.array(fc.array(anyEdit, { maxLength: 4 }), { maxLength: 4 }), isSameEither), {
    numRuns: 500,
  });
});

test("a set beside thousands of unknown fields is decided in parts", () => {
  const scopes = new Scopes();
  const unknown = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field${index}`, index]));
  const config: Config = { svc: unknown };
  const edit = { scope: "svc", field: "timeout", value: 30 };
  const steps = decidingBatch([waiting([edit])], stateOf(config, scopes), config, rulesOf(scopes));
  const { parts, result } = inParts(steps);
  expect(parts).toBeGreaterThanOrEqual(5);
  expect(result.decided[0]?.changes).toEqual([{ scope: "svc", field: "timeout", after: 30 }]);
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
