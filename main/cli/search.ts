import { type Command, Option } from "commander";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { SearchHit } from "../../shared/protocol.ts";
import {
  addJsonOption,
  addSessionOptions,
  type OutputOptions,
  parseLimit,
  type SessionOptions,
} from "./command-options.ts";

interface SearchOptions extends SessionOptions, OutputOptions {
  readonly limit?: number;
}

const defaultLimit = 100;

/** `repoconf search QUERY`: repositories and fields of all repositories. */
export function addSearchCommand(program: Command): void {
  addJsonOption(addSessionOptions(program.command("search")))
    .argument("<query...>", `such as timeout, or 'field:svc.proxy_https=off repo:web*'`)
    .summary("find repositories, fields and values")
    .description(
      'find repositories, fields and values, by words that all have to be found and by conditions\n\nfield:NAME or field:NAME=VALUE, modified, broken, by:ACTOR and since:7d (24h, 30m, a date) of the last change, repo:PATTERN; * stands for any characters, - before one means not, "two words" belong together. Begin with -- if the query begins with -.',
    )
    .addOption(new Option("--limit <n>", `how many results to show (default: ${defaultLimit})`).argParser(parseLimit))
    .action(search);
}

async function search(words: readonly string[], options: SearchOptions): Promise<void> {
  const { withSession } = await import("./session.ts");
  const { listFields, showValue } = await import("./fields.ts");
  const { printJson, printNote, printTable } = await import("./terminal.ts");
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
      const rows = hits.map(({ repo, scope, field, value }) => {
        if (scope === undefined || field === undefined) return [repo, "", ""];
        const path = joinConfigPath(scope, field);
        // Masked values are not shown.
        return [repo, path, value === undefined ? "" : showValue(value, fields.get(path), false)];
      });
      if (hits.length > 0) printTable(["REPOSITORY", "FIELD", "VALUE"], rows);
      else printNote("Nothing found.");
    }
    // A user who passed a limit knows about it.
    if (isMore && options.limit === undefined)
      printNote(`There are more results: repoconf search --limit ${defaultLimit * 10} ...`);
  });
}
