import { joinConfigPath } from "../config-path.ts";
import { canonicalJson, type JsonValue } from "../json.ts";
import { masksAnything } from "../scopes/masks.ts";
import type { FieldSchema } from "../scopes/scope-schema.ts";
import { showPlain } from "../scopes/value-text.ts";
import { valueAt } from "../value-edit.ts";
import { pointerInside } from "../value-place.ts";
import type { Query, Term, ValuePattern } from "./parse-query.ts";
import { matchesPart, matchesWhole } from "./text-pattern.ts";

/*
 * Matches a query in three steps, cheapest first: by the repository, by the field and its value, and by who last changed it and
 * when.
 */

export interface QueriedRepository {
  readonly id: string;
  readonly name: string;
  readonly path?: string;
  /** Its file is invalid. */
  readonly isBroken: boolean;
  /** It stores at least one field. */
  readonly isModified: boolean;
}

/** What is left to match in a repository's fields after its own name, path and id were searched. */
export interface RepositoryMatch {
  /** The repository itself is a result. */
  readonly isHit: boolean;
  /** Words that are not in its name, path or id, so a field must contain them. */
  readonly wordsLeft: readonly string[];
}

export interface QueriedField {
  readonly scope: string;
  readonly field: string;
  /** Undefined if the field does not exist (any more). */
  readonly schema: FieldSchema | undefined;
  readonly value: JsonValue;
  /** Whether the value is stored; false if it is the default. */
  readonly isStored: boolean;
}

/** Returns undefined if neither the repository nor any of its fields can match. */
export function matchRepository(query: Query, repository: QueriedRepository): RepositoryMatch | undefined {
  const { id, name, path = "", isBroken, isModified } = repository;
  const text = [name, path, id].join("\n").toLowerCase();
  const wordsLeft: string[] = [];
  for (const term of query) {
    if (term.kind === "broken" && isBroken === term.isNot) return undefined;
    if (term.kind === "modified" && !term.isNot && !isModified) return undefined;
    if (term.kind === "repo" && [id, name].some(one => matchesWhole(term.name, one)) === term.isNot) return undefined;
    if (term.kind !== "word") continue;
    const isBorne = text.includes(term.text);
    if (term.isNot && isBorne) return undefined;
    if (!term.isNot && !isBorne) wordsLeft.push(term.text);
  }
  // `modified` with a word finds the repositories that store something. Every other condition on fields finds only fields.
  const isOfFields = query.some(term => isOfField(term) || (term.kind === "modified" && term.isNot));
  const isNamed = query.some(isSoughtWord) || !query.some(({ kind }) => kind === "modified");
  return { isHit: wordsLeft.length === 0 && isNamed && !isOfFields, wordsLeft };
}

/** Whether the query finds linked worktrees too, which are on a repository that it finds. */
export function asksForWorktrees(query: Query): boolean {
  return query.some(({ kind, isNot }) => kind === "worktrees" && !isNot);
}

/** Whether the query can find fields, and not only repositories. */
export function seeksFields(query: Query): boolean {
  return query.some(term => isSoughtWord(term) || isOfField(term) || term.kind === "modified");
}

/** Whether a field matches, apart from `by:` and `since:`, which need its last change. */
export function matchField(query: Query, match: RepositoryMatch, field: QueriedField): boolean {
  if (!matchConditions(query, field)) return false;
  if (!query.some(({ kind }) => kind === "word")) return true;
  const text = textOf(field);
  // A word may match the repository instead, but at least one word or another condition must match the field itself. Otherwise a
  // repository's name would find all of its fields.
  const isItsOwn =
    !query.some(isSoughtWord) ||
    query.some(term => isOfField(term) || (isSoughtWord(term) && text.includes(term.text)));
  return isItsOwn && matchWords(query, match, text);
}

/**
 * Whether a past change matches: `field` holds the value it set and `note` its reason. `by:` and `since:` are checked by
 * `matchChange`.
 */
export function matchPast(query: Query, match: RepositoryMatch, field: QueriedField, note: string): boolean {
  return matchConditions(query, field) && matchWords(query, match, `${textOf(field)}\n${note.toLowerCase()}`);
}

/** Whether a history entry that changed no field matches, such as an added repository. */
export function matchPastWithoutField(query: Query, match: RepositoryMatch, note: string): boolean {
  return (
    !query.some(({ kind }) => kind === "field" || kind === "modified") && matchWords(query, match, note.toLowerCase())
  );
}

function matchConditions(query: Query, field: QueriedField): boolean {
  const path = joinConfigPath(field.scope, field.field);
  return query.every(term => {
    if (term.kind === "modified") return field.isStored !== term.isNot;
    if (term.kind !== "field") return true;
    const isNamed = term.isWhole ? matchesWhole(term.name, path) : matchesPart(term.name, path);
    const place = isNamed || !term.isWhole ? undefined : pointerInside(term.typed, path, field.schema);
    const value = isNamed ? field.value : place === undefined ? undefined : valueAt(field.value, place, field.schema);
    const isThere = value !== undefined && (term.value === undefined || hasValue({ ...field, value }, term.value));
    return isThere !== term.isNot;
  });
}

/** `text` must be in lower case. */
function matchWords(query: Query, { wordsLeft }: RepositoryMatch, text: string): boolean {
  const isRefused = query.some(term => term.kind === "word" && term.isNot && text.includes(term.text));
  return !isRefused && wordsLeft.every(word => text.includes(word));
}

function textOf(field: QueriedField): string {
  const shown = isMasked(field) ? [] : shownTexts(field.value, field.schema);
  return [joinConfigPath(field.scope, field.field), field.schema?.title ?? "", ...shown].join("\n").toLowerCase();
}

/** Whether the query asks who last changed a field, or when. That needs the history, which is slower. */
export function asksForChange(query: Query): boolean {
  return query.some(({ kind }) => kind === "by" || kind === "since");
}

/** Whether a change matches `by:` and `since:`. Undefined stands for a field without a known change. */
export function matchChange(
  query: Query,
  change: { /** As the asking key may see it. */ readonly actor: string; readonly time: string } | undefined,
): boolean {
  return query.every(term => {
    if (term.kind === "since") return (change !== undefined && Date.parse(change.time) >= term.time) !== term.isNot;
    if (term.kind !== "by") return true;
    return (
      (change !== undefined && actorNames(change.actor).some(name => matchesWhole(term.name, name))) !== term.isNot
    );
  });
}

/** Whether any part of the value is masked. A field without a schema may have been masked, so it counts as masked. */
export function isMasked({ schema }: Pick<QueriedField, "schema">): boolean {
  return schema === undefined || masksAnything(schema);
}

/** `by:owner` also finds `owner (browser)`. */
function actorNames(actor: string): readonly string[] {
  return [actor, actor.replace(/^owner \(.*\)$/, "owner")];
}

function isSoughtWord(term: Term): term is Term & { readonly kind: "word" } {
  return term.kind === "word" && !term.isNot;
}

function isOfField({ kind }: Term): boolean {
  return kind === "field" || kind === "by" || kind === "since";
}

function hasValue(field: QueriedField, wanted: ValuePattern): boolean {
  if (isMasked(field)) return false;
  const { value, schema } = field;
  const json = canonicalJson(value);
  if (json === wanted.json || matchesWhole(wanted.text, json)) return true;
  if (typeof value === "string") return matchesWhole(wanted.text, value);
  return isPlain(value) && schema !== undefined && matchesWhole(wanted.text, showPlain(value, schema));
}

function isPlain(value: JsonValue): value is boolean | number {
  return typeof value === "boolean" || typeof value === "number";
}

/** The texts, numbers and names in a value, without JSON's quotes. */
function* textsIn(value: JsonValue): Generator<string> {
  if (typeof value !== "object" || value === null) yield String(value);
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item);
  else
    for (const [name, member] of Object.entries(value)) {
      yield name;
      yield* textsIn(member);
    }
}

/** The same, and what the screen shows for a single value: `off`, `Sunday`, `900 seconds`. */
function* shownTexts(value: JsonValue, schema: FieldSchema | undefined): Generator<string> {
  if (isPlain(value) && schema !== undefined) yield showPlain(value, schema);
  yield* textsIn(value);
}
