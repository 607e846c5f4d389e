import { randomUUID } from "node:crypto";
import pLimit from "p-limit";
import { isSecretReference } from "../../../shared/scopes/hidden-values.ts";
import type { Variables } from "../../../shared/variables.ts";
import { describeCause } from "../../files/describe-cause.ts";
import type { Home } from "../../home/home.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { runSecretCommand, type SecretTimeout } from "./secret-command.ts";

/*
 * `cmd://NAME/ARGUMENT` refers to a secret that is stored elsewhere. The command for NAME is in the home's settings.json, never in a
 * repository, and runs without a shell. Its output goes only into the environment; no error message quotes it.
 */

/** The command of a name in the settings. */
interface SecretCommand {
  /** The program and its arguments. `{}` is replaced by the reference's argument. */
  readonly command: readonly string[];
  /** If set, the program is started once for all references: it reads this line for each one, and prints one line for each. */
  readonly input?: string;
  /** Whether it copies other lines: between the answers are some, by which answers of several lines are told apart. */
  readonly framed?: boolean;
  /** Seconds for all its references together, if not ten: it may ask a person first. */
  readonly timeout?: number;
}

interface Reference {
  /** The stored text. */
  readonly text: string;
  readonly name: string;
  readonly argument: string | undefined;
  /** The variable that refers to the secret, for messages. */
  readonly variable: string;
}

/** Processes of one command at a time. */
const concurrency = 8;
/** Seconds for all references of a command. */
const defaultTimeout = 10;

interface ResolvedVariables {
  /** Without those whose secrets could not be fetched. */
  readonly values: { readonly [name: string]: string };
  readonly failures: readonly CommandError[];
}

/** Replaces references in the environment by their secrets. Throws CommandError, which never contains a secret, if one cannot be fetched. */
export async function resolveVariables(variables: Variables, home: Home): Promise<{ readonly [name: string]: string }> {
  const { values, failures } = await resolveWhatCan(variables, home);
  const [first] = failures;
  if (first === undefined) return values;
  throw failures.length === 1
    ? first
    : new CommandError(failures.map(({ message }) => message).join("\n"), first.exitCode);
}

/** Replaces references by their secrets, where these can be fetched. Throws CommandError if the settings cannot be read. */
export async function resolveWhatCan(variables: Variables, home: Home): Promise<ResolvedVariables> {
  const references: Reference[] = [];
  const outcomes = new Map<string, string | CommandError>();
  for (const [variable, { text }] of variables) {
    if (!isSecretReference(text) || outcomes.has(text) || references.some(one => one.text === text)) continue;
    const reference = readReference(text, variable);
    if (reference instanceof CommandError) outcomes.set(text, reference);
    else references.push(reference);
  }
  if (references.length > 0)
    for (const [text, outcome] of await fetchSecrets(references, home)) outcomes.set(text, outcome);
  const values = Array.from(variables, ([name, { text }]) => [name, outcomes.get(text) ?? text] as const);
  return {
    values: Object.fromEntries(values.filter((one): one is [string, string] => typeof one[1] === "string")),
    // One that fails for several references says so once.
    failures: [...new Set([...outcomes.values()].filter(one => typeof one !== "string"))],
  };
}

function readReference(text: string, variable: string): Reference | CommandError {
  // A line break in the argument would add a line to the program's input.
  const [, name, argument] = /^cmd:\/\/([A-Za-z0-9][A-Za-z0-9_-]*)(?:\/(\P{Cc}+))?$/u.exec(text) ?? [];
  if (name === undefined)
    return referenceError(text, variable, "is not a secret reference; write cmd://NAME or cmd://NAME/ARGUMENT");
  return { text, name, argument, variable };
}

/** By the text of its reference, a secret, or why there is none. */
type Outcome = readonly [reference: string, secret: string | CommandError];

async function fetchSecrets(references: readonly Reference[], home: Home): Promise<readonly Outcome[]> {
  const commands = await readCommands(home);
  const answers = [...Map.groupBy(references, ({ name }) => name)].flatMap(([name, named]) => {
    const template = commands[name];
    // Each has its own: the time of one runs on while another one waits for a person.
    const limit = pLimit(concurrency);
    const seconds = template?.timeout ?? defaultTimeout;
    const context = { home, timeout: { seconds, signal: AbortSignal.timeout(seconds * 1_000) } };
    if (template?.input !== undefined) return [limit(() => askOnce(template, named, context))];
    if (template !== undefined) return named.map(reference => limit(() => askEach(template, reference, context)));
    const missing = `needs "${name}" under "secrets" in ${home.settingsFile}, which has no such entry`;
    const outcomes = named.map(({ text, variable }): Outcome => [text, referenceError(text, variable, missing)]);
    return [Promise.resolve(outcomes)];
  });
  return (await Promise.all(answers)).flat();
}

interface Context {
  readonly home: Home;
  readonly timeout: SecretTimeout;
}

async function readCommands(home: Home): Promise<{ readonly [name: string]: SecretCommand | undefined }> {
  const { readSettings } = await import("../../home/settings.ts");
  const settings = await readSettings(home).catch(error => {
    throw new CommandError(`${home.settingsFile}: ${describeCause(error)}`);
  });
  const { secrets = {} } = settings ?? {};
  // Validated by the schema of the settings. No prototype, so that a name such as "constructor" is not found.
  return Object.assign(Object.create(null), secrets);
}

/** Starts one process for one reference. */
async function askEach(template: SecretCommand, reference: Reference, context: Context): Promise<Outcome[]> {
  const { text, variable, argument = "" } = reference;
  const takesArgument = template.command.some(part => part.includes("{}"));
  if (takesArgument !== (reference.argument !== undefined)) {
    const what = takesArgument
      ? "needs an ARGUMENT, because the command contains {}"
      : "must not have an ARGUMENT, because the command does not contain {}";
    return [[text, referenceError(text, variable, what)]];
  }
  if (argument.startsWith("-") && template.command.some(part => part.startsWith("{}")))
    return [[text, referenceError(text, variable, "has an ARGUMENT that the program would read as an option")]];
  const command = template.command.map(part => part.replaceAll("{}", () => argument));
  const output = await ask(command, undefined, [reference], context).catch(asFailure);
  return [[text, typeof output === "string" ? withoutLineEnd(output) : output]];
}

/** Starts one process for all references of a name. */
async function askOnce(template: SecretCommand, named: readonly Reference[], context: Context): Promise<Outcome[]> {
  const references = named.filter(({ argument }) => argument !== undefined);
  const without = named.filter(({ argument }) => argument === undefined);
  const outcomes = without.map(
    ({ text, variable }): Outcome => [text, referenceError(text, variable, "needs an ARGUMENT")],
  );
  if (references.length === 0) return outcomes;
  const answers = await askTogether(template, references, context).catch(asFailure);
  if (!(answers instanceof CommandError))
    return [...outcomes, ...references.map(({ text }, index): Outcome => [text, answers[index] ?? ""])];
  return [...outcomes, ...(await askAlone(template, references, answers, context))];
}

/** One after another, to learn which of them fails, or has several lines. If the first two fail too, all do: a password manager is locked. */
async function askAlone(
  template: SecretCommand,
  references: readonly Reference[],
  failure: CommandError,
  context: Context,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const isFailing = () => outcomes.length === 2 && outcomes.every(([, one]) => one instanceof CommandError);
  for (const reference of references) {
    if (references.length === 1 || context.timeout.signal.aborted || isFailing())
      return references.map(({ text }) => [text, failure]);
    const answers = await askTogether(template, [reference], context).catch(asFailure);
    outcomes.push([reference.text, answers instanceof CommandError ? answers : (answers[0] ?? "")]);
  }
  return outcomes;
}

/** The answers, in order. What one process prints for a single reference is all of it its answer. */
async function askTogether(
  { command, input = "", framed = false }: SecretCommand,
  references: readonly Reference[],
  context: Context,
): Promise<readonly string[]> {
  const mark = randomUUID();
  const lines = references.map(({ argument = "" }, index) => {
    const line = `${input.replaceAll("{}", () => argument)}\n`;
    return framed ? `${mark}-${index}\n${line}` : line;
  });
  const output = await ask(command, lines.join("") + (framed ? `${mark}-end\n` : ""), references, context);
  const unlike = (what: string) => commandFailure(references, what, command);
  if (framed) {
    const [before, ...parts] = output.split(new RegExp(`${mark}-(?:\\d+|end)\r?\n?`));
    const marks = output.match(new RegExp(`${mark}-(?:\\d+|end)`, "g")) ?? [];
    const isWhole =
      before === "" && marks.every((one, index) => one === `${mark}-${index === references.length ? "end" : index}`);
    if (!isWhole || marks.length !== references.length + 1)
      throw unlike('did not copy the lines between the answers, as "framed" says that it does');
    return parts.slice(0, -1).map(withoutLineEnd);
  }
  if (output !== "" && references.length === 1) return [withoutLineEnd(output)];
  const answers = output === "" ? [] : withoutLineEnd(output).split(/\r?\n/);
  if (answers.length !== references.length)
    throw unlike(`answered with ${answers.length} lines instead of ${references.length}`);
  return answers;
}

async function ask(
  command: readonly string[],
  input: string | undefined,
  references: readonly Reference[],
  { home, timeout }: Context,
): Promise<string> {
  return runSecretCommand(command, input, home.folder, timeout).catch((cause: Error) => {
    throw commandFailure(references, cause.message, command);
  });
}

function asFailure(error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  throw error;
}

function commandFailure(references: readonly Reference[], what: string, command: readonly string[]): CommandError {
  const all = references.map(({ text, variable }) => `${text} (for ${variable})`).join(", ");
  const name = references[0]?.name ?? "";
  const message = `No secret for ${all}: the command "${name}" in settings.json ${what}. To see why, run it yourself: ${command.join(" ")}`;
  return new CommandError(message);
}

function referenceError(text: string, variable: string, what: string): CommandError {
  return new CommandError(`${text} (for ${variable}) ${what}.`, exitCodes.refused);
}

function withoutLineEnd(text: string): string {
  return text.replace(/\r?\n$/, "");
}
