import { limitExceeded, RepoconfError } from "../errors.ts";
import { parseExactJson } from "../exact-number.ts";
import { canonicalJson } from "../json.ts";
import { limits } from "../limits.ts";
import { type TextPattern, textPattern } from "./text-pattern.ts";

/** One condition of a query. All of them must match. */
export type Term = { readonly isNot: boolean } & (
  | { readonly kind: "word" /** In lower case. */; readonly text: string }
  | {
      readonly kind: "field";
      readonly name: TextPattern;
      /** The same as it was typed: a place inside a value is no pattern. */
      readonly typed: string;
      readonly isWhole: boolean;
      readonly value?: ValuePattern;
    }
  | { readonly kind: "modified" | "broken" | "worktrees" }
  | { readonly kind: "by" | "repo"; readonly name: TextPattern }
  | { readonly kind: "since" /** Milliseconds since 1970. */; readonly time: number }
);

/** The value that a field must have: a text or label that matches the pattern, or the same JSON. */
export interface ValuePattern {
  readonly text: TextPattern;
  /** Canonical JSON, if the text is valid JSON. */
  readonly json?: string;
}

export type Query = readonly Term[];

/** A piece of the query as it was typed. */
interface Token {
  readonly isNot: boolean;
  /** Undefined for a plain word. */
  readonly key?: Key;
  readonly name: string;
  readonly isQuoted: boolean;
  readonly value?: { readonly text: string; readonly isQuoted: boolean };
  readonly at: number;
  readonly end: number;
}

const keys = ["field", "by", "since", "repo", "worktrees"] as const;
type Key = (typeof keys)[number];

/** Words that filter unless they are quoted. The `@` forms are the older spelling. */
const filters = new Map<string, "modified" | "broken">([
  ["modified", "modified"],
  ["@modified", "modified"],
  ["broken", "broken"],
  ["@broken", "broken"],
]);

/**
 * Reads a query: `field:svc.proxy_https=off modified by:ci since:7d repo:web* "two words" -not` (docs/protocol.md, "Queries").
 * `since:7d` counts back from `now`, in milliseconds since 1970. Throws RepoconfError 1101 with `details` that say where the
 * problem is (`at`, from 0, and `length`) and what to write `instead`, or 1107 for too many or too long terms.
 */
export function parseQuery(text: string, now: number): Query {
  const terms = new Map<string, Term>();
  let counted = 0;
  for (const token of tokensOf(text)) {
    // An empty pair of quotes.
    if (token.key === undefined && token.name === "") continue;
    for (const { length } of [token.name, token.value?.text ?? ""])
      if (length > limits.searchWordLength)
        throw limitExceeded("characters in a word of a search", length, limits.searchWordLength);
    const term = termOf(token, text, now);
    const same = JSON.stringify(term);
    if (terms.has(same)) continue;
    terms.set(same, term);
    if (term.kind !== "modified" && term.kind !== "broken") counted += 1;
  }
  if (counted > limits.searchWords) throw limitExceeded("words in a search", counted, limits.searchWords);
  return [...terms.values()];
}

function* tokensOf(text: string): Generator<Token> {
  for (let at = skipBlanks(text, 0); at < text.length; at = skipBlanks(text, at)) {
    const token = readToken(text, at);
    yield token;
    at = token.end;
  }
}

function readToken(text: string, at: number): Token {
  const isNot = text[at] === "-" && at + 1 < text.length && !isBlank(text[at + 1]);
  const begin = isNot ? at + 1 : at;
  const key = keys.find(one => text.slice(begin, begin + one.length + 1).toLowerCase() === `${one}:`);
  const from = key === undefined ? begin : begin + key.length + 1;
  const name = readText(text, from, key === "field" ? "=" : undefined);
  const token = { isNot, ...(key !== undefined && { key }), name: name.text, isQuoted: name.isQuoted, at };
  if (text[name.end] !== "=") return { ...token, end: name.end };
  const value = readText(text, name.end + 1);
  return { ...token, value, end: value.end };
}

/** Reads a quoted text, in which `""` stands for a quote, or the characters up to the next blank or `stop`. */
function readText(text: string, from: number, stop?: string): { text: string; isQuoted: boolean; end: number } {
  if (text[from] !== '"') {
    let end = from;
    while (end < text.length && !isBlank(text[end]) && text[end] !== stop) end += 1;
    return { text: text.slice(from, end), isQuoted: false, end };
  }
  let read = "";
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] !== '"') read += text[at];
    else if (text[at + 1] === '"') {
      read += '"';
      at += 1;
    } else {
      const end = at + 1;
      if (end === text.length || isBlank(text[end]) || text[end] === stop) return { text: read, isQuoted: true, end };
      const quoted = text.slice(from, end);
      throw unreadable(text, from, end + 1, "expected a space after the closing quote", `${quoted} `);
    }
  }
  const rest = text.slice(from);
  throw unreadable(text, from, text.length, "the quote is not closed", `${rest}"`);
}

function termOf(token: Token, text: string, now: number): Term {
  const { isNot, key, name, isQuoted, value, at, end } = token;
  const filter = isQuoted ? undefined : filters.get(name.toLowerCase());
  if (key === undefined) return filter ? { kind: filter, isNot } : { kind: "word", isNot, text: name.toLowerCase() };
  if (name === "") throw unreadable(text, at, end, `${key}: needs a value`, examples[key]);
  switch (key) {
    case "by":
    case "repo":
      return { kind: key, isNot, name: textPattern(name, isQuoted) };
    case "worktrees":
      if (name.toLowerCase() !== "yes") throw unreadable(text, at, end, "worktrees: has no other value", examples[key]);
      return { kind: key, isNot };
    case "since": {
      const time = timeOf(name, now);
      if (time === undefined)
        throw unreadable(text, at, end, "since: needs days, hours, minutes or a date in UTC", examples.since);
      return { kind: "since", isNot, time };
    }
    case "field": {
      const isWhole = name.includes(".");
      const field = { kind: "field", isNot, name: textPattern(name, isQuoted), typed: name, isWhole } as const;
      if (value === undefined) return field;
      if (value.text === "" && !value.isQuoted)
        throw unreadable(text, at, end, "expected a value after =", `${text.slice(at, end)}""`);
      return { ...field, value: valuePattern(value.text, value.isQuoted) };
    }
  }
}

const examples: { readonly [name in Key]: string } = {
  field: "field:svc.timeout",
  by: "by:owner",
  since: "since:7d, since:24h, since:30m or since:2026-11-21",
  repo: "repo:web*",
  worktrees: "worktrees:yes",
};

function valuePattern(text: string, isQuoted: boolean): ValuePattern {
  const pattern = textPattern(text, isQuoted);
  try {
    return { text: pattern, json: canonicalJson(parseExactJson(text)) };
  } catch {
    return { text: pattern };
  }
}

const units: { readonly [unit: string]: number } = { d: 86_400_000, h: 3_600_000, m: 60_000 };

/** Returns undefined if the text is not a valid time. */
function timeOf(text: string, now: number): number | undefined {
  const { count, unit = "" } = /^(?<count>\d{1,6})(?<unit>[dhm])$/i.exec(text)?.groups ?? {};
  if (count !== undefined) return now - Number(count) * (units[unit.toLowerCase()] ?? 0);
  const { date } =
    /^(?<date>\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/i.exec(text)?.groups ?? {};
  const time = date === undefined ? Number.NaN : Date.parse(text.toUpperCase());
  // `Date` silently turns February 30 into March 2.
  const isThere = new Date(Date.parse(date ?? "")).toJSON()?.startsWith(date ?? "");
  return Number.isNaN(time) || !isThere ? undefined : time;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && isBlank(text[at])) at += 1;
  return at;
}

function isBlank(character: string | undefined): boolean {
  return character !== undefined && /\s/.test(character);
}

function unreadable(text: string, at: number, end: number, what: string, instead: string): RepoconfError {
  const given = text.slice(at, Math.min(end, at + limits.shownPart));
  const message = `Invalid query at character ${at + 1} (${given}): ${what}. Write ${instead}`;
  return new RepoconfError(1101, message, { details: { at, length: end - at, instead } });
}
