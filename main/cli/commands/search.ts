import { type Command, Option } from "commander";
import { joinConfigPath } from "../../../shared/config-path.ts";
import type { SearchHit } from "../../../shared/protocol.ts";
import {
  addJsonOption,
  addSessionOptions,
  type OutputOptions,
  parseLimit,
  type SessionOptions,
} from "../command-options.ts";

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
  const { isTerminal, printJson, printNote, printTable } = await import("../output/terminal.ts");
  await withSession(options, async ({ client }) => {
    const { limit = defaultLimit } = options;
    const hits: SearchHit[] = [];
    let isMore = false;
    for await (const hit of client.search(words.join(" "))) {
      isMore = hits.length === limit;
      if (isMore) break;
      hits.push(hit);
    }
    if (options.json) printJson(hits);
    else {
      const fields = await listFields(client);
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
