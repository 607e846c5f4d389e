import type { Command } from "commander";
import { RequestError } from "../../../shared/client/request-error.ts";
import type { ErrorEntry } from "../../../shared/errors.ts";
import { changesIn } from "../../../shared/history-changes.ts";
import type { HistoryEntry, Reply, RepositoryEntry } from "../../../shared/protocol.ts";
import type { ValuePlace } from "../../../shared/typed-place.ts";
import { describeChange } from "../change/describe-change.ts";
import { findPlace, narrowChange, withPlace } from "../change/value-place.ts";
import {
  addJsonOption,
  addOptions,
  addRepositoryOption,
  addSessionOptions,
  type OutputOptions,
  type RepositoryOptions,
  type SessionOptions,
} from "../command-options.ts";
import { type Fields, listFields, unknownField, withSuggestion } from "../connect/fields.ts";
import type { Requests } from "../connect/requests.ts";
import { defaultHistoryLimit, historyRows } from "../options.ts";
import { CommandError } from "../output/exit-codes.ts";
import { printableChange } from "../output/masking.ts";
import { confirmOrThrow, isTerminal, print, printJson, printNote, style } from "../output/terminal.ts";

export interface HistoryOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly limit?: number;
  readonly after?: number;
  readonly reveal?: boolean;
}

interface ForgetOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly yes?: boolean;
}

/** The maximum number of entries in one reply. */
const maximumPageSize = 1_000;

/** `repoconf history [FIELD]` and `repoconf history forget FIELD`. */
export function addHistoryCommand(program: Command): void {
  const history = addOptions(program.command("history"), historyRows)
    .usage("[options] [field]")
    .argument("[field]", "only changes of this field, such as svc.timeout, or of a place inside its value")
    .description("show what changed, when, by whom and why, newest first")
    .action(showHistory);
  addJsonOption(addRepositoryOption(addSessionOptions(history.command("forget"))))
    .argument("<field>", "such as svc.envvars")
    .summary("permanently erase the older values of a field from the journal")
    .description(
      "permanently erase the older values of a field from the journal; needs the owner's key\n\nThe current value stays, and the history still shows when the field changed and by whom. This does not reach backups, files in removed/, git, or values that programs have already read.",
    )
    .option("--yes", "do not ask for confirmation")
    // `history` has the same options, and commander may assign them to it instead of `forget`.
    .action((field: string, _: ForgetOptions, command: Command) => forget(field, command.optsWithGlobals()));
}

async function showHistory(typed: string | undefined, options: HistoryOptions): Promise<void> {
  const { withRepository } = await import("../connect/repositories.ts");
  await withRepository(options, (client, repository) => printHistory(client, repository, typed, options));
}

/** Throws RequestError, CommandError. */
export async function printHistory(
  client: Requests,
  { id, name }: RepositoryEntry,
  typed: string | undefined,
  options: HistoryOptions,
): Promise<void> {
  const known = await listFields(client);
  const place = typed === undefined ? undefined : findPlace(typed, known);
  const fields = place === undefined ? known : withPlace(known, place);
  const { entries, older, damage } = await readHistory(client, id, { place, fields }, options).catch(async error => {
    throw await withSuggestion(async () => known, error);
  });
  if (options.json) {
    printJson(options.reveal ? entries : entries.map(entry => printableChange(entry, fields)));
  } else {
    if (isTerminal()) print(style("dim", `${name} (${id})`));
    for (const change of changesIn(entries)) {
      print(...describeChange(change, { fields, reveal: options.reveal === true }));
    }
    if (entries.length === 0 && damage === undefined) printNote("The history has no entry for it.");
  }
  // Users who passed a limit expect more entries; on a terminal, the next command is useful anyway.
  if (older !== undefined && (options.limit === undefined || process.stderr.isTTY)) {
    const what = [...(typed === undefined ? [] : [typed]), ...(options.repo === undefined ? [] : ["--repo", id])];
    printNote(`Older entries: ${["repoconf history", ...what, "--after", older].join(" ")}`);
  }
  if (damage !== undefined) {
    const message = entries.length > 0 ? "The history is incomplete. " : "";
    throw new CommandError(`${message}${damage.message} To find the damage: repoconf doctor`);
  }
}

interface ReadHistory {
  readonly entries: readonly HistoryEntry[];
  /** Set if there are entries older than this revision. */
  readonly older?: string;
  /** Why older entries cannot be shown. */
  readonly damage?: ErrorEntry;
}

/** The newest entries; with a place inside a value, those that changed it, with what they changed there. Throws RequestError. */
export async function readHistory(
  client: Requests,
  repo: string,
  { place, fields }: { readonly place: ValuePlace | undefined; readonly fields: Fields },
  { limit = defaultHistoryLimit, after }: Pick<HistoryOptions, "limit" | "after">,
): Promise<ReadHistory> {
  const isInside = place !== undefined && place.path !== "";
  const entries: HistoryEntry[] = [];
  let from = after === undefined ? undefined : String(after);
  for (;;) {
    const reply: Reply<readonly HistoryEntry[]> = await client.request("history/list", {
      repo,
      // Most changes of a field may be at other places.
      limit: isInside ? maximumPageSize : Math.min(limit - entries.length, maximumPageSize),
      ...(place !== undefined && { field: place.field }),
      ...(from !== undefined && { after: from }),
    });
    const [first] = reply.errors;
    if (first !== undefined && first.code !== 1110) throw new RequestError(first, reply);
    for (const entry of reply.result ?? []) {
      const isOfField = Object.keys(entry.changes).length > 0;
      const shown = isInside && isOfField ? narrowChange(entry, place, fields) : entry;
      if (shown === undefined) continue;
      // Only a place's page has more than were asked for.
      if (entries.length === limit) return { entries, older: String(entries.at(-1)?.revision) };
      entries.push(shown);
    }
    if (first !== undefined) return { entries, damage: first };
    if (reply.next === undefined) return { entries };
    if (entries.length >= limit) return { entries, older: reply.next };
    from = reply.next;
  }
}

const unreached =
  "Not erased: copies in backups, in removed/ and before-... folders, in git's history of in-tree files, in editors' own backup files, and in programs that have already read the values.";

async function forget(field: string, options: ForgetOptions): Promise<void> {
  const { withRepository } = await import("../connect/repositories.ts");
  await withRepository(options, async (client, { id, name }) => {
    const fields = await listFields(client);
    if (!fields.has(field)) {
      // A field without a schema may have older values too, but a typo must be reported.
      const unknown = unknownField(field, fields);
      if (!field.includes(".") || unknown.message.includes("Did you mean")) throw unknown;
    }
    if (!options.yes) {
      printNote(
        `This permanently erases every value of ${field} except the current one from the journal of ${name} (${id}).`,
      );
      printNote(unreached);
      await confirmOrThrow("Erase them?", "Nothing was erased.");
    }
    await client.run("history/forget", { repo: id, field });
    if (options.json) return printJson({ repo: id, field });
    print(`Erased the older values of ${field} in ${name}.`);
    if (options.yes) print(unreached);
  });
}
