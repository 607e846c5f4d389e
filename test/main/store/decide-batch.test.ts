import { expect, test } from "vitest";
import { compileScope, Scopes } from "../../../main/scopes/scopes.ts";
import { decidingBatch, type WaitingChange } from "../../../main/store/repository/decide-batch.ts";
import type { RepositoryState } from "../../../main/store/types.ts";
import { interpretConfig, interpretingConfig } from "../../../main/store/values/interpret.ts";
import type { Config, ConfigEdit } from "../../../shared/config.ts";
import { inParts } from "../../helpers/parts.ts";

function waiting(edits: readonly ConfigEdit[]): WaitingChange {
  const decide = () => ({ edits, answer: undefined });
  return { kind: "change", request: { actor: { kind: "file" }, source: "set", decide }, settle: () => {} };
}

const rulesOf = (scopes: Scopes) => ({ scopes, isTrusted: () => true });

function stateOf(config: Config, scopes: Scopes): RepositoryState {
  const { stored, health } = interpretConfig(config, undefined, rulesOf(scopes));
  return { id: "shop", name: "shop", inTree: false, revision: 1, position: undefined, stored, health };
}

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
