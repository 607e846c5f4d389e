import { joinConfigPath } from "../config-path.ts";
import { canonicalJson, type JsonValue } from "../json.ts";
import { masksAnything } from "../scopes/masks.ts";
import type { FieldSchema } from "../scopes/scope-schema.ts";
import { showPlain } from "../scopes/value-text.ts";
import type { Query, Term, ValuePattern } from "./parse-query.ts";
import { matchesPart, matchesWhole } from "./text-pattern.ts";

/*
 * Whether a query finds something, in three steps, as each costs more than the one before: by the repository, by the field and its
 * value, and by who changed it last and when.
 */

export interface QueriedRepository {
  readonly id: string;
  readonly name: string;
  readonly path?: string;
  /** Something is wrong with its file. */
  readonly isBroken: boolean;
  /** It has stored fields. */
  readonly isModified: boolean;
}

/** What a repository leaves to be found in its fields. */
export interface RepositoryMatch {
  /** It is found itself. */
  readonly isHit: boolean;
  /** The words that it does not bear; a field in it has to. */
  readonly wordsLeft: readonly string[];
}

export interface QueriedField {
  readonly scope: string;
  readonly field: string;
  /** Undefined: it is not there (any more). */
  readonly schema: FieldSchema | undefined;
  readonly value: JsonValue;
  /** The value is stored, and not the default. */
  readonly isStored: boolean;
}

/** Undefined: nothing in it is found. */
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
  // With `modified`, words name the repositories that have something stored; all else that is said of fields is said of fields alone.
  const isOfFields = query.some(term => isOfField(term) || (term.kind === "modified" && term.isNot));
  const isNamed = query.some(isSoughtWord) || !query.some(({ kind }) => kind === "modified");
  return { isHit: wordsLeft.length === 0 && isNamed && !isOfFields, wordsLeft };
}

/** Whether the query can find fields, and not repositories alone. */
export function seeksFields(query: Query): boolean {
  return query.some(term => isSoughtWord(term) || isOfField(term) || term.kind === "modified");
}

/** Whether a field of the repository is found, as far as that shows without its last change. */
export function matchField(query: Query, match: RepositoryMatch, field: QueriedField): boolean {
  if (!matchConditions(query, field)) return false;
  if (!query.some(({ kind }) => kind === "word")) return true;
  const text = textOf(field);
  // Words of its repository count too, but one has to be its own, unless something else is said of it.
  const isItsOwn =
    !query.some(isSoughtWord) ||
    query.some(term => isOfField(term) || (isSoughtWord(term) && text.includes(term.text)));
  return isItsOwn && matchWords(query, match, text);
}

/** Whether a change of a field is found in a history, which gave it the value; `note`: what was said of it. By whom and when is `matchChange`. */
export function matchPast(query: Query, match: RepositoryMatch, field: QueriedField, note: string): boolean {
  return matchConditions(query, field) && matchWords(query, match, `${textOf(field)}\n${note.toLowerCase()}`);
}

/** Whether what changed no field is found in a history. */
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
    return (isNamed && (term.value === undefined || hasValue(field, term.value))) !== term.isNot;
  });
}

/** `text` in small letters. */
function matchWords(query: Query, { wordsLeft }: RepositoryMatch, text: string): boolean {
  const isRefused = query.some(term => term.kind === "word" && term.isNot && text.includes(term.text));
  return !isRefused && wordsLeft.every(word => text.includes(word));
}

function textOf(field: QueriedField): string {
  const shown = isMasked(field) ? [] : shownTexts(field.value, field.schema);
  return [joinConfigPath(field.scope, field.field), field.schema?.title ?? "", ...shown].join("\n").toLowerCase();
}

/** Whether the query asks who changed a field last, or when: that costs a look into its history. */
export function asksForChange(query: Query): boolean {
  return query.some(({ kind }) => kind === "by" || kind === "since");
}

/** Whether a change is one that the query asks for; undefined: what was not changed, as far as is known. */
export function matchChange(
  query: Query,
  change: { /** As the asking key is told of it. */ readonly actor: string; readonly time: string } | undefined,
): boolean {
  return query.every(term => {
    if (term.kind === "since") return (change !== undefined && Date.parse(change.time) >= term.time) !== term.isNot;
    if (term.kind !== "by") return true;
    return (
      (change !== undefined && actorNames(change.actor).some(name => matchesWhole(term.name, name))) !== term.isNot
    );
  });
}

/** Masked in whole or in part, or perhaps: one whose schema is gone may be a masked one. */
export function isMasked({ schema }: Pick<QueriedField, "schema">): boolean {
  return schema === undefined || masksAnything(schema);
}

/** `owner (browser)` is the owner too. */
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

/** What a person reads in a value: its texts, numbers and names, without JSON's quotes around them. */
function* textsIn(value: JsonValue): Generator<string> {
  if (typeof value !== "object" || value === null) yield String(value);
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item);
  else
    for (const [name, member] of Object.entries(value)) {
      yield name;
      yield* textsIn(member);
    }
}

/** Those, and what the screen shows for a value that is one word: `off`, `Sunday`, `900 seconds`. */
function* shownTexts(value: JsonValue, schema: FieldSchema | undefined): Generator<string> {
  if (isPlain(value) && schema !== undefined) yield showPlain(value, schema);
  yield* textsIn(value);
}
