import type { Command } from "commander";
import type { RepoconfClient } from "../../shared/client/client.ts";
import { exactText, type JsonValue } from "../../shared/json.ts";
import type { UntrustedValue } from "../../shared/protocol.ts";
import {
  addJsonOption,
  addRepositoryOption,
  addSessionOptions,
  type OutputOptions,
  type RepositoryOptions,
  type SessionOptions,
} from "./command-options.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { type Fields, listFields } from "./fields.ts";
import { printable } from "./masking.ts";
import { confirm, print, printJson, style } from "./terminal.ts";

interface TrustOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly accept?: readonly string[];
  readonly reveal?: boolean;
}

/** So many lines that stay are shown on either side of those that differ. */
const context = 3;

/** `repoconf trust`: shows what a work tree's file brings that runs as a command, and lets a person trust it. */
export function addTrustCommand(program: Command): void {
  addJsonOption(addRepositoryOption(addSessionOptions(program.command("trust"))))
    .argument("[field...]", "only these, such as svc.services (default: all that wait)")
    .summary("look at commands that a pull brought, and trust them")
    .description(
      "look at commands that a pull brought, and trust them\n\nValues that run as commands and come with a work tree's .repoconf.json are not used until a person trusts them. This shows each one beside what serves now, whole, masked ones too, and asks. Without a terminal it trusts nothing but what --accept names.",
    )
    .option(
      "--accept <hash>",
      "trust the value with this hash, as --json tells it, and do not ask (may be repeated)",
      (hash: string, before: readonly string[] = []) => [...before, hash],
    )
    .option("--reveal", "with --json, print masked values too")
    .action(trust);
}

async function trust(fields: readonly string[], options: TrustOptions): Promise<void> {
  const { withSession } = await import("./session.ts");
  const { chooseRepository } = await import("./repositories.ts");
  await withSession(options, async ({ client }) => {
    const { id } = await chooseRepository(client, options.repo);
    const all = await client.run("trust/list", { repo: id });
    const stranger = fields.find(field => !all.some(one => one.field === field));
    if (stranger !== undefined) throw new CommandError(`Nothing waits in ${stranger}.`, exitCodes.refused);
    const waiting = all.filter(({ field }) => fields.length === 0 || fields.includes(field));
    const printValues = async (values: readonly UntrustedValue[]) => {
      const known = await listFields(client);
      printJson(options.reveal ? values : values.map(value => printableValue(value, known)));
    };
    if (options.accept !== undefined) {
      const accepted = await acceptNamed(client, waiting, options.accept, options);
      return options.json ? printValues(accepted) : undefined;
    }
    if (options.json) return printValues(waiting);
    if (waiting.length === 0) return print("Nothing waits to be trusted.");
    const left = await showAndAsk(client, waiting);
    if (left > 0) process.exitCode = exitCodes.failed;
  });
}

async function acceptNamed(
  client: RepoconfClient,
  waiting: readonly UntrustedValue[],
  hashes: readonly string[],
  { json }: OutputOptions,
): Promise<readonly UntrustedValue[]> {
  const missing = hashes.find(hash => !waiting.some(one => one.hash === hash));
  if (missing !== undefined) {
    const message = `No value with the hash ${missing} waits here: the file may have another one by now. Look again: repoconf trust --json`;
    throw new CommandError(message, exitCodes.refused);
  }
  const accepted = waiting.filter(({ hash }) => hashes.includes(hash));
  for (const one of accepted) await accept(client, one, json === true);
  return accepted;
}

function printableValue(one: UntrustedValue, fields: Fields): UntrustedValue {
  const show = (value: JsonValue) => printable(one.field, value, fields);
  return { ...one, value: show(one.value), serving: show(one.serving) };
}

/** Shows what waits and asks for each; says how to trust what is left. Returns how many wait still. */
export async function showAndAsk(client: RepoconfClient, waiting: readonly UntrustedValue[]): Promise<number> {
  let left = 0;
  for (const one of waiting) {
    show(one);
    if (await confirm(`Trust this value of ${one.field}?`)) await accept(client, one, false);
    else left += 1;
  }
  const [first] = waiting;
  if (left > 0 && first !== undefined)
    print(
      `${left === 1 ? "It is" : `${left} are`} not used until you trust ${left === 1 ? "it" : "them"}, on a terminal: repoconf trust --repo ${first.repo}`,
    );
  return left;
}

async function accept(client: RepoconfClient, { repo, field, hash }: UntrustedValue, quiet: boolean): Promise<void> {
  const { revision } = await client.run("trust/accept", { repo, field, hash });
  if (!quiet) print(`Trusted ${field}; it is in service by revision ${revision}.`);
}

function show({ field, value, serving, hash }: UntrustedValue): void {
  print(style("bold", field));
  for (const line of differingLines(serving, value)) {
    const colour = line.startsWith("-") ? "red" : line.startsWith("+") ? "green" : "dim";
    print(style(colour, line));
  }
  print(`  hash ${hash}`);
}

/** From the first line that differs to the last, what serves now and what is to be trusted, with some lines around. */
function differingLines(serving: JsonValue, value: JsonValue): string[] {
  const [before, after] = [exactText(serving).split("\n"), exactText(value).split("\n")];
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  return [
    ...after.slice(Math.max(0, start - context), start).map(line => `  ${line}`),
    ...before.slice(start, before.length - end).map(line => `- ${line}`),
    ...after.slice(start, after.length - end).map(line => `+ ${line}`),
    ...after.slice(after.length - end, after.length - end + context).map(line => `  ${line}`),
  ];
}
