import { type Command, Option } from "commander";
import type { WatchMessage } from "../../../shared/client/watch.ts";
import { describeProblem } from "../../../shared/health.ts";
import type { ValuePlace } from "../../../shared/typed-place.ts";
import { type DescribeOptions, describeChange } from "../change/describe-change.ts";
import { narrowChange, readPlace, withPlace } from "../change/value-place.ts";
import {
  addJsonOption,
  addRepositoryOption,
  addSessionOptions,
  type OutputOptions,
  parseRevision,
  type RepositoryOptions,
  type SessionOptions,
} from "../command-options.ts";
import { type Fields, listFields } from "../connect/fields.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { printableChange } from "../output/masking.ts";
import { print, printJson, printNote } from "../output/terminal.ts";

interface WatchOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly all?: boolean;
  readonly since?: number;
  readonly reveal?: boolean;
}

/** `repoconf watch`: prints changes as they happen, until Ctrl+C. */
export function addWatchCommand(program: Command): void {
  addJsonOption(addRepositoryOption(addSessionOptions(program.command("watch"))))
    .argument("[field]", "only changes of this field, such as svc.timeout, or of a place inside its value")
    .summary("print changes as they happen")
    .description(
      "print changes as they happen, until Ctrl+C; with --json, one line each\n\nIt also reports when the repository's file becomes invalid or valid again, and when the connection to the daemon is lost and restored. With a field, it reports only changes of that field.",
    )
    .addOption(
      new Option("--since <revision>", "start with the changes made after this revision of the repository").argParser(
        parseRevision,
      ),
    )
    .option("--all", "watch every repository, and changes to repositories, scopes and keys")
    .option("--reveal", "show masked values")
    .action(watch);
}

async function watch(typed: string | undefined, options: WatchOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { chooseRepository } = await import("../connect/repositories.ts");
  const { since } = options;
  if (options.all && (since !== undefined || options.repo !== undefined))
    throw new CommandError(
      "--all watches every repository; --repo and --since apply to a single one.",
      exitCodes.usage,
    );
  await withSession(options, async ({ client }) => {
    const repository = options.all ? undefined : await chooseRepository(client, options.repo);
    const known = await listFields(client);
    const place = typed === undefined ? undefined : readPlace(typed, known);
    const withPlaceOf = (listed: Fields) => (place === undefined ? listed : withPlace(listed, place));
    let fields = withPlaceOf(known);
    const names = new Map((await client.repositories()).map(({ id, name }) => [id, name]));
    const stop = new AbortController();
    const { signal } = stop;
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
    // The reader of the output may exit first, like head.
    process.stdout.once("error", () => stop.abort());
    const what = repository === undefined ? "all repositories" : `${repository.name} (${repository.id})`;
    if (process.stderr.isTTY) printNote(`Watching ${what}. Press Ctrl+C to stop.`);

    function printMessage(message: PrintedMessage): void {
      const [resource, event, payload] = message;
      if (message[0] === "repo") names.set(message[2].id, message[2].name);
      if (options.json)
        printJson({ resource, event, payload: options.reveal ? payload : printableOf(message, fields) }, 0);
      else print(...describe(message, names, { fields, reveal: options.reveal === true }));
      if (repository !== undefined && resource === "repo" && event === "removed")
        throw new CommandError(`${repository.name} was removed, so there is nothing left to watch.`);
    }
    async function printEverything(): Promise<void> {
      for await (const received of client.watchEverything({ signal })) {
        // Without its schema, a field counts as masked, so a failure here reveals nothing.
        if (received[0] === "scope" || (received[0] === "connection" && received[1] === "resumed"))
          fields = withPlaceOf(await listFields(client).catch(() => new Map()));
        if (received[0] === "draft" || (received[0] === "config" && since !== undefined)) continue;
        const message = narrow(received, repository?.id, { place, fields });
        if (message !== undefined) printMessage(message);
      }
    }
    /** Prints the changes of one repository, including past ones. */
    async function printChanges(repo: string): Promise<void> {
      for await (const change of client.watch({ repo, since: since ?? 0, signal })) {
        const message = narrow(["config", "changed", change], repo, { place, fields });
        if (message !== undefined) printMessage(message);
      }
    }
    const isOfPast = since !== undefined && repository !== undefined;
    await Promise.all([printEverything(), isOfPast && printChanges(repository.id)]).finally(() => stop.abort());
  });
}

/** Unsaved edits on the screen are not shown to others. */
type PrintedMessage = Exclude<WatchMessage, readonly [resource: "draft", ...unknown[]]>;

/** The part of a message that concerns the repository and the field or place, if given, or the connection; undefined if there is none. */
function narrow(
  message: PrintedMessage,
  id: string | undefined,
  { place, fields }: { readonly place: ValuePlace | undefined; readonly fields: Fields },
): PrintedMessage | undefined {
  switch (message[0]) {
    case "config": {
      if (id !== undefined && message[2].repo !== id) return undefined;
      if (place === undefined) return message;
      const change = narrowChange(message[2], place, fields);
      return change && ["config", "changed", change];
    }
    case "repo":
      if (place !== undefined && message[1] !== "removed") return undefined;
      return id === undefined || message[2].id === id ? message : undefined;
    case "connection":
      if (message[1] === "lost" || id === undefined) return message;
      return ["connection", "resumed", { lost: message[2].lost.filter(lost => lost === id) }];
    default:
      return id === undefined ? message : undefined;
  }
}

/** The message without masked values. */
function printableOf(message: PrintedMessage, fields: Fields) {
  return message[0] === "config" ? printableChange(message[2], fields) : message[2];
}

function describe(message: PrintedMessage, names: ReadonlyMap<string, string>, options: DescribeOptions): string[] {
  const nameOf = (id: string) => names.get(id) ?? id;
  switch (message[0]) {
    case "config":
      return describeChange(message[2], options, nameOf(message[2].repo));
    case "repo": {
      const [, event, { id, name, health }] = message;
      const who = `${name} (${id})`;
      const problems = health.map(problem => `  ${describeProblem(problem)}`);
      if (event !== "health") return [`${now()}  ${who}: ${event}`];
      return [`${now()}  ${who}: ${health.length === 0 ? "no more problems" : "has problems"}`, ...problems];
    }
    case "scope":
      return [`${now()}  scope ${message[2].scope}: changed`];
    case "key":
      return [`${now()}  keys changed`];
    case "daemon": {
      const { problems } = message[2];
      const all = problems.map(problem => `  ${problem}`);
      return [`${now()}  the daemon ${problems.length === 0 ? "has no more problems" : "has problems"}`, ...all];
    }
    case "connection": {
      if (message[1] === "lost") return [`${now()}  connection lost; reconnecting`];
      const { lost } = message[2];
      const what = `added, removed, or changed beyond what the history covers: ${lost.map(nameOf).join(", ")}`;
      return [`${now()}  reconnected${lost.length === 0 ? "" : `; ${what}`}`];
    }
  }
}

/** The time of arrival, for messages without a time of their own. */
function now(): string {
  return new Date().toISOString();
}
