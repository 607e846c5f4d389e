import { configEntries } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import { problemsIn } from "../../shared/health.ts";
import type { JsonValue } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import type { SearchHit } from "../../shared/protocol.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { showPlain } from "../../shared/scopes/value-text.ts";
import type { Caller } from "./caller.ts";
import type { ConfigService } from "./config-service.ts";
import { limitExceeded } from "./measure.ts";
import type { Scopes } from "./scopes.ts";
import type { Turn } from "./yielding.ts";

interface Query {
  /** In small letters; all of them have to be found. */
  readonly words: readonly string[];
  /** `@modified`: stored fields alone. */
  readonly modified: boolean;
  /** `@broken`: repositories with problems alone. */
  readonly broken: boolean;
}

/**
 * Finds repositories by name, path or id, and fields by name, title or value, in the order of the repositories' ids. Words
 * that the repository bears need not be in the field too, but one has to be. Masked values are neither searched nor told.
 * Values of repositories that nobody has opened are read for it. Throws RepoconfError 1107 for too many words.
 */
export async function* searchConfig(
  caller: Caller,
  text: string,
  after: string | undefined,
  { service, scopes, turn }: { readonly service: ConfigService; readonly scopes: Scopes; readonly turn: Turn },
): AsyncGenerator<SearchHit> {
  const query = parseQuery(text);
  for await (const entry of service.repositories(caller, { after }, turn)) {
    if (query.broken && problemsIn(entry.health).length === 0) continue;
    if (query.modified && entry.modified === 0) continue;
    const repository = [entry.name, entry.path ?? "", entry.id].join("\n").toLowerCase();
    const left = query.words.filter(word => !repository.includes(word));
    if (left.length === 0 && !(query.modified && query.words.length === 0)) yield { repo: entry.id };
    if (query.words.length === 0 && !query.modified) continue;
    // One whose file is broken from the start has no values.
    const list = await service.list(caller, { repo: entry.id, stored: query.modified }).catch(() => undefined);
    for (const { scope, field, value } of configEntries(list?.config ?? {})) {
      if (turn.isOver) await turn.pass();
      const schema = scopes.field(scope, field)?.schema;
      // One whose schema is gone may be a masked one.
      const masked = schema === undefined || schema["x-masked"] === true;
      const texts = [joinConfigPath(scope, field), schema?.title ?? "", ...(masked ? [] : shownTexts(value, schema))];
      const candidate = texts.join("\n").toLowerCase();
      const own = query.words.length === 0 || query.words.some(word => candidate.includes(word));
      if (own && left.every(word => candidate.includes(word)))
        yield { repo: entry.id, scope, field, ...(!masked && { value }) };
    }
  }
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
function* shownTexts(value: JsonValue, schema: ValueSchema): Generator<string> {
  if (typeof value === "boolean" || typeof value === "number") yield showPlain(value, schema);
  yield* textsIn(value);
}

/** Throws RepoconfError 1107. */
function parseQuery(text: string): Query {
  const all = new Set(text.toLowerCase().split(/\s+/));
  const modified = all.delete("@modified");
  const broken = all.delete("@broken");
  all.delete("");
  if (all.size > limits.searchWords) throw limitExceeded("words in a search", all.size, limits.searchWords);
  for (const { length } of all) {
    if (length > limits.searchWordLength)
      throw limitExceeded("characters in a word of a search", length, limits.searchWordLength);
  }
  return { words: [...all], modified, broken };
}
