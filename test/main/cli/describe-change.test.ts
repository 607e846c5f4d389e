import { expect, test } from "vitest";
import { describeField } from "../../../main/cli/change/describe-change.ts";
import type { FieldChange, HistoryEntry } from "../../../shared/protocol.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";

const open: FieldSchema = { type: "string", default: "plain" };
const fields = new Map<string, FieldSchema>([
  ["app.open", open],
  ["app.token", { ...open, "x-masked": true }],
]);

interface Told extends Partial<FieldChange> {
  readonly layer?: HistoryEntry["layer"];
  readonly path?: string;
}

test.each<[words: string, told: Told]>([
  ["mine -> plain (default)", { value: "plain", previous: "mine", stored: false }],
  ["plain (now stored, equal to the default)", { value: "plain", previous: "plain" }],
  ["plain (no longer stored, equal to the default)", { value: "plain", previous: "plain", stored: false }],
  // A secret is in a revision also if it stays the same.
  ["•••••• (set again, the same value)", { value: "key", previous: "key", path: "app.token" }],
  ["mine -> theirs (no local value)", { value: "theirs", previous: "mine", stored: false, layer: "local" }],
  ["theirs (local, the same value as before)", { value: "theirs", previous: "theirs", layer: "local" }],
  [
    "theirs (no longer local, the same value counts)",
    { value: "theirs", previous: "theirs", stored: false, layer: "base" },
  ],
  ["•••••• (this key may not see it) (no local value)", { masked: true, stored: false, layer: "local" }],
])("a change is told as: %s", (words, { layer, path = "app.open", ...change }) => {
  const whole = { value: null, previous: null, stored: true, ...change };
  expect(describeField(path, whole, { fields, reveal: false }, layer)).toBe(`  ${path}: ${words}`);
});
