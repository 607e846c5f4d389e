import type { Config } from "../../shared/config.ts";
import { diffConfigs } from "../../shared/config-diff.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import { isJsonObject, type JsonValue, sameJson } from "../../shared/json.ts";
import { maskedWithin, schemaOf, schemaOfMember } from "../../shared/scopes/masks.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { diffValues, type ValueChange, type ValueStep } from "../../shared/value-diff.ts";
import { nameToSee } from "../parts/invisible.ts";
import { unknownSchema, withTextsShown } from "../parts/show-json.ts";
import { findField, orDefault, type ScopeEntry } from "../state/store.ts";

/** Shown for an erased value. */
export const forgotten = Symbol("forgotten");

type FieldValue = JsonValue | typeof forgotten | undefined;

/** The change of one field. */
export interface FieldChange {
  /** `<scope>.<field>` */
  readonly path: string;
  readonly schema: ValueSchema;
  /** Undefined: the default. */
  readonly before: FieldValue;
  readonly after: FieldValue;
  /** A heading above it, where the source of the change matters. */
  readonly title?: string;
  /** A note beside its values, such as that one is edited. */
  readonly notes?: { readonly before?: string | undefined; readonly after?: string | undefined };
}

/** One side of a line: a value, with its position if that changed, or a text instead of a value. */
type DiffSide = { readonly isDefault: boolean; readonly note?: string | undefined } & (
  | { readonly value: JsonValue; readonly place?: number }
  | { readonly words: string }
);

/** A change of one leaf: a text, a number, a switch, an empty list or object. */
export interface DiffLine {
  /** Unique among the lines of the field. */
  readonly key: string;
  /** Such as `svc.services.web.image`, `svc.proxy_aliases[2]`. */
  readonly path: string;
  /** The schema of the value at the path; everything inside a masked value is masked. */
  readonly schema: ValueSchema;
  readonly before: DiffSide;
  readonly after: DiffSide;
}

/** The differences between two stored configurations, in the form that a table shows. */
export function changesBetween(before: Config, after: Config, scopes: readonly ScopeEntry[]): FieldChange[] {
  return diffConfigs(before, after).map(difference => ({
    path: joinConfigPath(difference.scope, difference.field),
    schema: findField(scopes, difference.scope, difference.field) ?? unknownSchema,
    before: difference.before,
    after: difference.after,
  }));
}

/** The maximum of lines counted beyond the shown ones. */
const maxCounted = 1_000;

/** The first `most` lines of a field's change, at least one, and a text with the number of further lines; undefined: none. */
export function diffLines(
  change: FieldChange,
  most: number,
): { readonly lines: readonly DiffLine[]; readonly more: string | undefined } {
  const lines: DiffLine[] = [];
  let count = 0;
  for (const leaf of leavesOf(change)) {
    if (count === 0 || count < most) lines.push(lineOf(change, leaf, count === 0));
    count += 1;
    if (count - lines.length > maxCounted) break;
  }
  const more = count - lines.length;
  const said = (more > maxCounted ? "more than " : "") + Math.min(more, maxCounted).toLocaleString("en");
  return { lines, more: more === 0 ? undefined : `and ${said} more` };
}

interface Leaf {
  readonly steps: readonly ValueStep[];
  readonly kind: "added" | "removed" | "changed" | "moved";
  readonly before?: FieldValue;
  readonly after?: FieldValue;
  readonly places?: readonly [before: number, after: number];
}

function* leavesOf({ schema, before, after }: FieldChange): Generator<Leaf> {
  if (before === forgotten || after === forgotten) return yield { steps: [], kind: "changed", before, after };
  const shown = (value: JsonValue | undefined) => {
    const effective = orDefault(value, schema.default);
    return effective === undefined ? undefined : withTextsShown(effective, schema);
  };
  const [was, becomes] = [shown(before), shown(after)];
  let same = true;
  for (const change of diffValues(was, becomes)) {
    same = false;
    yield* leavesOfChange(change);
  }
  // The stored value equals the default, or will.
  if (same) yield { steps: [], kind: "changed", before: was, after: becomes };
}

function* leavesOfChange(change: ValueChange): Generator<Leaf> {
  const { path, kind } = change;
  if (kind === "moved") {
    const last = path.at(-1);
    const places = [change.from, typeof last === "object" ? last.at : 0] as const;
    return yield { steps: path, kind, before: change.value, after: change.value, places };
  }
  const whole = kind === "changed" && !isFilled(change.before) && !isFilled(change.after);
  if (whole) return yield { steps: path, kind, before: change.before, after: change.after };
  if (kind !== "added")
    for (const [steps, before] of leavesIn(change.before, path)) yield { steps, kind: "removed", before };
  if (kind !== "removed")
    for (const [steps, after] of leavesIn(change.after, path)) yield { steps, kind: "added", after };
}

/** If an entry is identified by its name, the name is not shown as a line unless the entry has nothing else. */
function* leavesIn(
  value: JsonValue,
  steps: readonly ValueStep[],
): Generator<readonly [readonly ValueStep[], JsonValue]> {
  if (!isFilled(value)) return yield [steps, value];
  if (Array.isArray(value)) {
    for (const [at, inner] of value.entries()) yield* leavesIn(inner, [...steps, { at }]);
    return;
  }
  const last = steps.at(-1);
  const members = Object.entries(value);
  const named = typeof last === "object" && last.name !== undefined && members.length > 1;
  for (const [name, inner] of members) if (!named || name !== "name") yield* leavesIn(inner, [...steps, name]);
}

/** Whether it contains something. */
function isFilled(value: JsonValue): value is Exclude<JsonValue, null | boolean | number | string> {
  return Array.isArray(value) ? value.length > 0 : isJsonObject(value) && Object.keys(value).length > 0;
}

function lineOf(field: FieldChange, { steps, kind, before, after, places }: Leaf, first: boolean): DiffLine {
  const last = steps.at(-1);
  const isNamed = typeof last === "string" || last?.name !== undefined;
  const side = (which: "before" | "after", value: FieldValue, absent: string, place: number | undefined): DiffSide => {
    const about = { isDefault: first && field[which] === undefined, note: first ? field.notes?.[which] : undefined };
    if (value === forgotten) return { words: "forgotten", ...about };
    if (value === undefined) return { words: absent, ...about };
    if (place === undefined) return { value, ...about };
    return isNamed ? { words: `at [${place}]`, ...about } : { value, place, ...about };
  };
  const path = field.path + steps.map(stepText).join("");
  return {
    key: `${kind} ${path}`,
    path: kind === "moved" && !isNamed ? field.path + steps.slice(0, -1).map(stepText).join("") : path,
    schema: steps.reduce(schemaWithin, field.schema),
    before: side("before", before, "not set", places?.[0]),
    after: side("after", after, "removed", places?.[1]),
  };
}

function stepText(step: ValueStep): string {
  const name = typeof step === "string" ? step : step.name;
  if (name === undefined) return typeof step === "object" ? `[${step.at}]` : "";
  if (/^[\w-]+$/.test(name)) return `.${name}`;
  return `[${JSON.stringify(name && nameToSee(name))}]`;
}

function schemaWithin(schema: ValueSchema, step: ValueStep): ValueSchema {
  return typeof step === "string"
    ? maskedWithin(schema, schemaOfMember(schema, step), step)
    : maskedWithin(schema, schemaOf(schema["items"]));
}

/** Whether both sides have the same value, as when a stored value that equals the default is reset. */
export function isUnchanged({ before, after }: DiffLine): boolean {
  return "value" in before && "value" in after && sameJson(before.value, after.value);
}
