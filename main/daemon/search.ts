import { configEntries } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { SearchHit } from "../../shared/protocol.ts";
import type { Caller } from "./caller.ts";
import type { ConfigService } from "./config-service.ts";
import type { Scopes } from "./scopes.ts";

/** What a query asks for: all of its words, in the order of a repository's name, a field's name and title, or a value. */
interface Query {
  readonly words: readonly string[];
  /** `@modified`: stored fields alone. */
  readonly modified: boolean;
  /** `@broken`: repositories with problems alone. */
  readonly broken: boolean;
}

/**
 * Finds repositories by name, and fields by name, title or value, by repository id. Masked values are neither searched nor
 * told. Values of repositories that nobody has opened are read for it.
 */
export async function* searchConfig(
  caller: Caller,
  text: string,
  after: string | undefined,
  { service, scopes }: { readonly service: ConfigService; readonly scopes: Scopes },
): AsyncGenerator<SearchHit> {
  const query = parseQuery(text);
  const matches = (candidate: string) => query.words.every(word => candidate.includes(word));
  for (const entry of await service.repositories(caller)) {
    if (after !== undefined && entry.id <= after) continue;
    if (query.broken && entry.health.length === 0) continue;
    if (query.modified && entry.modified === 0) continue;
    const repository = [entry.name, entry.path ?? "", entry.id].join("\n").toLowerCase();
    if (matches(repository) && !(query.modified && query.words.length === 0)) yield { repo: entry.id };
    if (query.words.length === 0 && !query.modified) continue;
    // One whose file is broken from the start has no values.
    const list = await service.list(caller, { repo: entry.id, stored: query.modified }).catch(() => undefined);
    for (const { scope, field, value } of configEntries(list?.config ?? {})) {
      const schema = scopes.field(scope, field)?.schema;
      const masked = schema?.["x-masked"] === true;
      const shown = masked ? "" : JSON.stringify(value);
      const candidate = [joinConfigPath(scope, field), schema?.title ?? "", shown].join("\n").toLowerCase();
      if (matches(candidate)) yield { repo: entry.id, scope, field, ...(!masked && { value }) };
    }
  }
}

function parseQuery(text: string): Query {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter(word => word !== "");
  const isFlag = (word: string) => word === "@modified" || word === "@broken";
  return {
    words: words.filter(word => !isFlag(word)),
    modified: words.includes("@modified"),
    broken: words.includes("@broken"),
  };
}
