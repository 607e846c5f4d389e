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
import { printableChange, printableConfig } from "../output/masking.ts";
import { flushOutput, print, printJson, printNote } from "../output/terminal.ts";

interface WatchOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly all?: boolean;
  readonly since?: number;
  readonly reveal?: boolean;
  readonly exec?: boolean;
  readonly state?: string;
  readonly ownChanges?: boolean;
}

/** `repoconf watch`: prints changes as they happen, until Ctrl+C. */
export function addWatchCommand(program: Command): void {
  addJsonOption(addRepositoryOption(addSessionOptions(program.command("watch"))))
    .argument("[field]", "only changes of this field, such as svc.timeout, or of a place inside its value")
    .argument("[command...]", "with --exec, behind --: the command and its arguments")
    .summary("print changes as they happen")
    .description(
      "print changes as they happen, until Ctrl+C; with --json, one line each\n\nIt also reports when the repository's file becomes invalid or valid again, and when the connection to the daemon is lost and restored. With a field, it reports only changes of that field.\n\nWith --exec it runs a command instead, without a shell: once at a time, with the changes that are waiting as a JSON list on standard input, each as --json prints it, and REPOCONF_REPO and REPOCONF_REVISION in its environment. If it fails, it gets them again after a pause. If the history does not reach back to what it has seen, the list has all values, and REPOCONF_WHOLE is 1.",
    )
    .addOption(
      new Option("--since <revision>", "start with the changes made after this revision of the repository").argParser(
        parseRevision,
      ),
    )
    .option("--all", "watch every repository, and changes to repositories, scopes and keys")
    .option("--reveal", "show masked values")
    .option("--exec", "run the command behind -- at changes, such as: repoconf watch --exec -- make reload")
    .option("--state <file>", "with --exec: remember here what the command has handled, and go on from there")
    .option("--own-changes", "with --exec: run the command again for changes that it makes itself")
    .action(watch);
}

async function watch(typed: string | undefined, more: readonly string[], options: WatchOptions): Promise<void> {
  if (options.exec) return watchAndExec([...(typed === undefined ? [] : [typed]), ...more], options);
  const alone = options.state === undefined ? options.ownChanges && "--own-changes" : "--state";
  if (alone) throw new CommandError(`${alone} is for --exec.`, exitCodes.usage);
  if (more.length > 0)
    throw new CommandError("To run a command at changes: repoconf watch --exec -- COMMAND", exitCodes.usage);
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

/** Runs the command behind `--`; what is before it is a field. */
async function watchAndExec(operands: readonly string[], options: WatchOptions): Promise<void> {
  const { openSession } = await import("../connect/session.ts");
  const { chooseRepository } = await import("../connect/repositories.ts");
  const { execOnChanges } = await import("../watch/exec-on-changes.ts");
  const end = process.argv.indexOf("--");
  const command = end === -1 ? [] : process.argv.slice(end + 1);
  const [typed, ...others] = operands.slice(0, operands.length - command.length);
  if (command.length === 0 || others.length > 0)
    throw new CommandError("Name the command behind --: repoconf watch --exec -- COMMAND", exitCodes.usage);
  if (options.all) throw new CommandError("--exec is for one repository, so not with --all.", exitCodes.usage);
  let code: number;
  {
    using session = await openSession(options);
    const { client, home } = session;
    const repository = await chooseRepository(client, options.repo);
    let fields = await listFields(client);
    const place = typed === undefined ? undefined : readPlace(typed, fields);
    const stop = new AbortController();
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => stop.abort());
    const reveal = options.reveal === true;
    const notice = async () => {
      for await (const message of client.watchEverything({ signal: stop.signal })) {
        const [resource, event, payload] = message;
        if (resource === "scope" || (resource === "connection" && event === "resumed"))
          fields = await listFields(client).catch(() => new Map());
        if (resource === "repo" && event === "removed" && payload.id === repository.id)
          throw new CommandError(`${repository.name} was removed, so there is nothing left to watch.`);
      }
    };
    const executing = execOnChanges({
      client,
      repository,
      command,
      environment: { REPOCONF_HOME: home.folder },
      since: options.since,
      stateFile: options.state,
      ownChanges: options.ownChanges === true,
      stop,
      show: change => {
        const known = place === undefined ? fields : withPlace(fields, place);
        const narrowed = place === undefined ? change : narrowChange(change, place, known);
        return narrowed === undefined || reveal ? narrowed : printableChange(narrowed, known);
      },
      showConfig: config => (reveal ? config : printableConfig(config, fields)),
    });
    [code] = await Promise.all([executing, notice().finally(() => stop.abort())]);
  }
  await flushOutput();
  process.exitCode = code;
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
      return describeChange([message[2]], options, nameOf(message[2].repo));
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
    case "proposal":
      return [`${now()}  proposals changed; to review them: repoconf trust`];
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
