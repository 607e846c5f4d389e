import fc from "fast-check";
import { expect, test } from "vitest";
import { mergeStaleEdit, type RecentWrite } from "../../../main/store/hand-edits/merge-edit.ts";
import { applyConfigEdits, type Config, type ConfigEdit } from "../../../shared/config.ts";
import type { JsonValue } from "../../../shared/json.ts";

const config = (svc: { readonly [field: string]: JsonValue }): Config => ({ svc });
const hashOf = (of: Config) => `hash of ${JSON.stringify(of)}`;

/** The writes that lead from each of these configurations to the next. */
function writes(...configs: readonly Config[]): RecentWrite[] {
  return configs.slice(1).map((after, index) => {
    const before = configs[index] ?? {};
    const names = new Set([...Object.keys(before["svc"] ?? {}), ...Object.keys(after["svc"] ?? {})]);
    return {
      at: index,
      before: { textHash: hashOf(before), config: before },
      after: { textHash: hashOf(after), config: after },
      paths: [...names]
        .filter(field => JSON.stringify(before["svc"]?.[field]) !== JSON.stringify(after["svc"]?.[field]))
        .map(field => ({ scope: "svc", field })),
    };
  });
}

const merge = (edited: Config, recent: readonly RecentWrite[]) =>
  mergeStaleEdit({ textHash: "a text of its own", config: edited }, recent);

test("an edit is merged with sets that it did not know of even if one reverted an earlier one", () => {
  const recent = writes(
    config({ timeout: 30 }),
    config({ timeout: 31 }),
    config({ timeout: 31, provider: "p" }),
    config({ timeout: 30, provider: "p" }),
  );
  expect(merge(config({ timeout: 31, domain: "hand" }), recent)).toEqual(
    config({ timeout: 30, provider: "p", domain: "hand" }),
  );
  expect(merge(config({ timeout: 30, provider: "p", domain: "hand" }), recent)).toBeUndefined();
});

test("any sets and any edit are both kept, if the edit is of other fields", () => {
  const fields = ["timeout", "domain", "provider", "proxy_url"];
  const byHand = ["refresh_day", "refresh_hour", "default_port"];
  const someOf = (names: readonly string[]) => fc.subarray([...names], { minLength: 1 });
  fc.assert(
    fc.property(
      fc.array(fc.record({ fields: someOf(fields), unset: fc.boolean() }), { minLength: 1, maxLength: 6 }),
      fc.nat(5),
      someOf(byHand),
      fc.array(fc.constantFrom(...fields, ...byHand)),
      (sets, moment, edited, stored) => {
        let number = 0;
        const valuesOf = (names: readonly string[], unset = false): ConfigEdit[] =>
          names.map(field => ({ scope: "svc", field, value: unset ? undefined : ++number }));
        const configs = [applyConfigEdits({ svc: {} }, valuesOf([...new Set(stored)]))];
        for (const set of sets) configs.push(applyConfigEdits(configs.at(-1) ?? {}, valuesOf(set.fields, set.unset)));
        const read = configs[moment % sets.length] ?? {};
        const hand = valuesOf(edited);
        const current = configs.at(-1) ?? {};
        const edit = applyConfigEdits(read, hand);
        // If it differs from the current values in no field, it does not show what it knew, and nothing is lost.
        expect(merge(edit, writes(...configs)) ?? edit).toEqual(applyConfigEdits(current, hand));
      },
    ),
    { numRuns: 2_000 },
  );
});
