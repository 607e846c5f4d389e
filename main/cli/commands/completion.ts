import { setTimeout as delay } from "node:timers/promises";
import { Argument, type Command, type Option } from "commander";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import type { Config } from "../../../shared/config.ts";
import { visible } from "../../../shared/visible.ts";
import { startFolderOption } from "../command-options.ts";
import { scripts } from "../completion-scripts.ts";
import { completionTimeout } from "../one-shot/complete.ts";
import { exitCodes } from "../output/exit-codes.ts";
import { flushOutput, print } from "../output/terminal.ts";

const installation = `print a script that completes commands, options, fields, repositories and keys in your shell

  bash, in ~/.bashrc:
    source <(repoconf completion bash)
  zsh, in ~/.zshrc:
    source <(repoconf completion zsh)
  fish, once:
    repoconf completion fish > ~/.config/fish/completions/repoconf.fish
  PowerShell 7.4 or newer, in the file that $PROFILE names:
    repoconf completion pwsh | Out-String | Invoke-Expression

Names of fields, repositories and keys come from a running daemon; completion never starts one.`;

/** `repoconf completion SHELL`, and the hidden `repoconf complete -- WORDS...` that its scripts call. */
export function addCompletionCommand(program: Command): void {
  const shell = new Argument("<shell>", "the shell to print the script for").choices(Object.keys(scripts));
  program
    .command("completion")
    .addArgument(shell)
    .summary("print a script that completes commands in your shell")
    .description(installation)
    .action((name: keyof typeof scripts) => print(...scripts[name].trimEnd().split("\n")));
  program
    .command("complete", { hidden: true })
    .argument("[words...]", "the words typed after the command name; the last one is completed")
    .action((words: readonly string[]) => complete(program, words));
}

/** Prints the candidates for the last word, one per line; nothing after any failure. */
async function complete(program: Command, words: readonly string[]): Promise<never> {
  const candidates = await Promise.race([
    findCandidates(program, words).catch(() => []),
    delay<string[]>(completionTimeout, []),
  ]);
  // A candidate with control characters would be escaped when printed, and then not work as an argument.
  print(...candidates.filter(candidate => visible(candidate) === candidate));
  // Exits without closing connections: a daemon that does not answer must not block the shell.
  await flushOutput();
  process.exit(exitCodes.done);
}

async function findCandidates(program: Command, words: readonly string[]): Promise<string[]> {
  const typed = words.at(-1) ?? "";
  const { command, position, option, values, optionsEnded } = readWords(program, words.slice(0, -1));
  const startFolder = values.get(startFolderOption.short ?? "");
  if (startFolder !== undefined) process.chdir(startFolder);
  const assigned = optionsEnded ? null : /^(--[^=]+)=(.*)$/.exec(typed);
  if (assigned !== null) {
    const [, flag = "", part = ""] = assigned;
    const valued = command.options.find(({ long }) => long === flag);
    return (await valuesFor(valued, part, values)).map(value => `${flag}=${value}`);
  }
  if (option !== undefined) return valuesFor(option, typed, values);
  const help = program.createHelp();
  if (typed.startsWith("-") && !optionsEnded) {
    const flags = help.visibleOptions(command).map(({ long, short }) => long ?? short ?? "");
    return flags.filter(flag => flag.startsWith(typed));
  }
  const { registeredArguments } = command;
  const subcommands = position > 0 ? [] : help.visibleCommands(command).map(sub => sub.name());
  const names = subcommands.filter(name => name.startsWith(typed));
  if (registeredArguments.length === 0) return names;
  const last = registeredArguments.at(-1);
  const argument = registeredArguments[position] ?? (last?.variadic ? last : undefined);
  return [...names, ...(await valuesFor(argument, typed, values))];
}

interface ReadWords {
  readonly command: Command;
  /** The number of arguments before the word to complete. */
  readonly position: number;
  /** The option whose value is being completed. */
  readonly option?: Option;
  /** The values of options, by long flag. */
  readonly values: ReadonlyMap<string, string>;
  readonly optionsEnded: boolean;
}

/** Parses the words so far as commander would. */
function readWords(program: Command, words: readonly string[]): ReadWords {
  const values = new Map<string, string>();
  let command = program;
  let position = 0;
  let option: Option | undefined;
  let given = 0;
  for (const [index, word] of words.entries()) {
    if (word === "--") return { command, position: position + words.length - index - 1, values, optionsEnded: true };
    if (option !== undefined && (given === 0 || !word.startsWith("-"))) {
      values.set(option.long ?? option.short ?? "", word);
      given += 1;
      if (!option.variadic) option = undefined;
    } else if (word.startsWith("-")) {
      const [flag, value] = word.split(/=(.*)/s, 2);
      const found = command.options.find(({ long, short }) => long === flag || short === flag);
      if (value !== undefined) values.set(flag ?? "", value);
      option = value === undefined && (found?.required || found?.optional) ? found : undefined;
      given = 0;
    } else {
      option = undefined;
      const sub = command.commands.find(one => one.name() === word || one.aliases().includes(word));
      if (sub === undefined) position += 1;
      else command = sub;
    }
  }
  // A variadic option that has a value already may be followed by another value or by an argument; a value is more likely.
  return { command, position, values, optionsEnded: false, ...(option !== undefined && { option }) };
}

/** The candidates for an argument or an option's value that start with the typed text. */
async function valuesFor(
  taker: Argument | Option | undefined,
  typed: string,
  values: ReadonlyMap<string, string>,
): Promise<string[]> {
  if (taker === undefined) return [];
  const starting = (candidates: Iterable<string>) => [...candidates].filter(candidate => candidate.startsWith(typed));
  if (taker.argChoices !== undefined) return starting(taker.argChoices);
  const name = "flags" in taker ? (/[<[](.+?)(\.\.\.)?[>\]]/.exec(taker.flags)?.[1] ?? "") : taker.name();
  switch (name) {
    case "field":
    case "field|scope":
    case "pattern":
      return starting(await fieldNames(typed, values));
    case "field=value":
      return starting(
        typed.includes("=")
          ? await assignments(typed, values)
          : (await fieldNames(typed, values)).map(field => `${field}=`),
      );
    case "repository":
    case "key": {
      using client = await connectToRunning(values);
      const entries = await (name === "key" ? client.run("key/list", { limit: 1_000 }) : client.repositories());
      const named = starting(uniqueNames(entries));
      return named.length > 0 ? named : starting(entries.map(({ id }) => id));
    }
    default:
      return [];
  }
}

/** All fields; where the text names one and more, the places inside its value. */
async function fieldNames(typed: string, values: ReadonlyMap<string, string>): Promise<string[]> {
  const { listFields } = await import("../connect/fields.ts");
  using client = await connectToRunning(values);
  const fields = await listFields(client);
  if (![...fields.keys()].some(field => typed.startsWith(`${field}.`))) return [...fields.keys()];
  const { knownPlaces } = await import("../change/known-values.ts");
  return await knownPlaces(typed, fields, () => readHere(client, values));
}

async function readHere(client: RepoconfClient, values: ReadonlyMap<string, string>): Promise<Config> {
  const { chooseRepository } = await import("../connect/repositories.ts");
  const { id } = await chooseRepository(client, values.get("--repo"));
  return client.run("config/list", { repo: id });
}

/** `FIELD=VALUE`, `FIELD+=VALUE`, `FIELD-=VALUE` or one of them with `:=` for each known value. */
async function assignments(typed: string, values: ReadonlyMap<string, string>): Promise<string[]> {
  const [, name = "", sign = "", colon = ""] = /^(.+?)([+-]?)(:?)=/.exec(typed) ?? [];
  const { listFields } = await import("../connect/fields.ts");
  const { knownValues } = await import("../change/known-values.ts");
  using client = await connectToRunning(values);
  const fields = await listFields(client);
  const known = await knownValues(name, sign, colon !== "", fields, () => readHere(client, values));
  return known.map(value => `${name}${sign}${colon}=${value}`);
}

/** The ids replace names that several repositories or keys share, because commands reject ambiguous names. */
function uniqueNames(entries: readonly { readonly id: string; readonly name: string }[]): string[] {
  const byName = Map.groupBy(entries, ({ name }) => name);
  return entries.map(({ id, name }) => (byName.get(name)?.length === 1 ? name : id));
}

async function connectToRunning(values: ReadonlyMap<string, string>) {
  const { connect } = await import("../../client/client.ts");
  const [home, keyFile] = [values.get("--home"), values.get("--key-file")];
  return connect({ timeout: completionTimeout, ...(home && { home }), ...(keyFile && { keyFile }) });
}
