import fc from "fast-check";
import { expect, test } from "vitest";
import { Scopes } from "../../../main/scopes/scopes.ts";
import { activeAfter, activeValues, applyCommit } from "../../../main/store/apply-commit.ts";
import type { CommittedState } from "../../../main/store/types.ts";
import type { Config, ConfigEdit } from "../../../shared/config.ts";

const anyEdits = fc.uniqueArray(
  fc.record({
    scope: fc.constantFrom("svc", "gone"),
    field: fc.constantFrom("timeout", "domain"),
    value: fc.constantFrom(1, 2, "a", undefined),
  }),
  { selector: ({ scope, field }) => `${scope}.${field}`, maxLength: 3 },
);
const anyCommit = fc.record({
  edits: anyEdits,
  activeEdits: fc.option(anyEdits, { nil: undefined }),
  kind: fc.constantFrom("revision", "revision", "only the file", "begins", "begins whole"),
});

/** Values by path. */
type Values = Map<string, unknown>;
const put = (values: Values, edits: readonly ConfigEdit[]) => {
  for (const { scope, field, value } of edits)
    if (value === undefined) values.delete(`${scope}.${field}`);
    else values.set(`${scope}.${field}`, value);
};
const valuesOf = (config: CommittedState["target"]): Values =>
  new Map(
    Object.entries(config).flatMap(([scope, fields]) =>
      Object.entries(fields).map(([field, value]) => [`${scope}.${field}`, value] as const),
    ),
  );

const editOf = (path: string, value: unknown): ConfigEdit => {
  const [scope = "", field = ""] = path.split(".");
  return { scope, field, value: value as ConfigEdit["value"] };
};

test("a state is what its commits say, and its active values are those of known fields, also if only the commit's fields are read", () => {
  const scopes = new Scopes();
  const who = { kind: "commit", time: "2026-01-01T00:00:00.000Z", actor: { kind: "file" }, source: "set" } as const;
  const isAsInModel = (commits: readonly (typeof anyCommit extends fc.Arbitrary<infer One> ? One : never)[]) => {
    let state: CommittedState = { lineage: "a", revision: 0, position: undefined, target: {}, valid: {} };
    let served: Config | undefined = state.valid;
    const [target, valid]: [Values, Values] = [new Map(), new Map()];
    for (const [at, { edits, activeEdits, kind }] of commits.entries()) {
      const isRevision = kind !== "only the file";
      const active = isRevision ? activeEdits : [];
      const document = {
        ...{ repo: "shop", lineage: `${at}`, revision: state.revision + (isRevision ? 1 : 0), edits },
        ...(active !== undefined && kind !== "begins whole" && { activeEdits: active }),
        ...(kind.startsWith("begins") && { begins: true as const }),
        ...(kind === "begins whole" && { isWhole: true as const }),
      };
      const [before, text] = [state, JSON.stringify(state)];
      const applied = applyCommit(state, who, document, { position: `0.${at}` });
      state = applied.state;
      served = activeAfter(served, before, applied, scopes);
      expect(valuesOf(served ?? {})).toEqual(valuesOf(activeValues(state.valid, scopes)));
      expect(valuesOf(served ?? {})).toEqual(
        new Map([...valuesOf(state.valid)].filter(([at]) => at.startsWith("svc."))),
      );
      if (kind === "begins whole") {
        // What is only in the file, because it is not valid, stays there.
        const whole: Values = new Map();
        put(whole, edits);
        const changed = [...new Set([...valid.keys(), ...whole.keys()])].filter(at => valid.get(at) !== whole.get(at));
        for (const values of [target, valid])
          put(
            values,
            changed.map(at => editOf(at, whole.get(at))),
          );
      } else {
        put(target, edits);
        put(valid, active ?? edits);
      }
      expect(JSON.stringify(before)).toBe(text);
      expect([valuesOf(state.target), valuesOf(state.valid)]).toEqual([target, valid]);
      expect(applied.record?.revision).toBe(isRevision ? before.revision + 1 : undefined);
      expect(state.position).toBe(isRevision ? `0.${at}` : before.position);
      expect(state.lineage).toBe(kind.startsWith("begins") ? `${at}` : before.lineage);
    }
  };
  fc.assert(fc.property(fc.array(anyCommit, { maxLength: 8 }), isAsInModel), { numRuns: 500 });
});
