import { type Command, Option } from "commander";
import { joinConfigPath } from "../../../shared/config-path.ts";
import type { SearchHit } from "../../../shared/protocol.ts";
import { parseQuery } from "../../../shared/query/parse-query.ts";
import { matchesWhole } from "../../../shared/query/text-pattern.ts";
import type { readItemPlace } from "../change/value-place.ts";
import {
  addJsonOption,
  addSessionOptions,
  type OutputOptions,
  parseLimit,
  type SessionOptions,
} from "../command-options.ts";
import type { Fields } from "../connect/fields.ts";

interface SearchOptions extends SessionOptions, OutputOptions {
  readonly limit?: number;
}

const defaultLimit = 100;

/** `repoconf search QUERY`: finds repositories, and fields in all repositories. */
export function addSearchCommand(program: Command): void {
  addJsonOption(addSessionOptions(program.command("search")))
    .argument("<query...>", `such as timeout, or 'field:svc.proxy_https=off repo:web*'`)
    .summary("find repositories, fields and values")
    .description(
      'find repositories, fields and values by words and conditions, all of which must match\n\nConditions: field:NAME, field:NAME=VALUE, where NAME may be a place inside a value, modified, broken, repo:PATTERN, and for the last change by:ACTOR and since:7d (24h, 30m, a date). * matches any characters, - negates the word or condition after it, and "two words" are one phrase. If the query begins with -, put -- before it.',
    )
    .addOption(new Option("--limit <n>", `how many results to show (default: ${defaultLimit})`).argParser(parseLimit))
    .action(search);
}

async function search(words: readonly string[], options: SearchOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { listFields, showValue } = await import("../connect/fields.ts");
  const { labels } = await import("../change/preview-changes.ts");
  const { readItemPlace } = await import("../change/value-place.ts");
  const { isTerminal, printJson, printNote, printTable } = await import("../output/terminal.ts");
  await withSession(options, async ({ client }) => {
    const { limit = defaultLimit } = options;
    const query = words.join(" ");
    const hits: SearchHit[] = [];
    let isMore = false;
    for await (const hit of client.search(query)) {
      isMore = hits.length === limit;
      if (isMore) break;
      hits.push(hit);
    }
    const fields = await listFields(client);
    if (hits.length === 0) refuseUnknownPlaces(query, fields, readItemPlace);
    if (options.json) printJson(hits);
    else {
      // People know repositories by their names; programs get ids.
      const nameOf = isTerminal() ? labels(await client.repositories()) : (repo: string) => repo;
      const rows = hits.map(({ repo, scope, field, value }) => {
        if (scope === undefined || field === undefined) return [nameOf(repo), "", ""];
        const path = joinConfigPath(scope, field);
        // Masked values are not shown.
        return [nameOf(repo), path, value === undefined ? "" : showValue(value, fields.get(path), false)];
      });
      if (hits.length > 0) printTable(["REPOSITORY", "FIELD", "VALUE"], rows);
      else printNote("Nothing found.");
    }
    // Users who passed a limit expect more results.
    if (isMore && options.limit === undefined)
      printNote(`There are more results: repoconf search --limit ${defaultLimit * 10} ...`);
  });
}

/** Throws CommandError for a field or place that finds nothing because no scope knows it. */
function refuseUnknownPlaces(query: string, fields: Fields, read: typeof readItemPlace): void {
  for (const term of parseQuery(query, Date.now())) {
    if (term.kind !== "field" || !term.isWhole || term.name.pieces.length > 1) continue;
    if (![...fields.keys()].some(path => matchesWhole(term.name, path))) read(term.typed, fields);
  }
}
