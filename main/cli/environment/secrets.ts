import { type ChildProcess, spawn } from "node:child_process";
import pLimit from "p-limit";
import { isSecretReference } from "../../../shared/scopes/hidden-values.ts";
import type { Variables } from "../../../shared/variables.ts";
import { describeCause } from "../../files/describe-cause.ts";
import { plainText } from "../../files/utf8-text.ts";
import type { Home } from "../../home/home.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";

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
}

interface Reference {
  /** The stored text. */
  readonly text: string;
  readonly name: string;
  readonly argument: string | undefined;
  /** The variable that refers to the secret, for messages. */
  readonly variable: string;
}

/** Milliseconds for all secrets together. */
const timeout = 10_000;
/** Characters of one program's output. */
const maximumOutput = 1_048_576;
const concurrency = 8;

/** Replaces references in the environment by their secrets. Throws CommandError, which never contains a secret. */
export async function resolveVariables(variables: Variables, home: Home): Promise<{ [name: string]: string }> {
  const references = new Map<string, Reference>();
  for (const [variable, { text }] of variables)
    if (isSecretReference(text) && !references.has(text)) references.set(text, readReference(text, variable));
  const secrets =
    references.size === 0 ? new Map<string, string>() : await fetchSecrets([...references.values()], home);
  return Object.fromEntries(Array.from(variables, ([name, { text }]) => [name, secrets.get(text) ?? text]));
}

function readReference(text: string, variable: string): Reference {
  // A line break in the argument would add a line to the program's input.
  const [, name, argument] = /^cmd:\/\/([A-Za-z0-9][A-Za-z0-9_-]*)(?:\/(\P{Cc}+))?$/u.exec(text) ?? [];
  if (name === undefined)
    throw referenceError(
      text,
      variable,
      "is not a secret reference; write cmd://NAME or cmd://NAME/ARGUMENT",
      exitCodes.refused,
    );
  return { text, name, argument, variable };
}

/** Returns the secrets by the text of their references. */
async function fetchSecrets(references: readonly Reference[], home: Home): Promise<ReadonlyMap<string, string>> {
  const commands = await readCommands(home);
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(timeout)]);
  const limit = pLimit(concurrency);
  const answers = [...Map.groupBy(references, ({ name }) => name)].flatMap(([name, named]) => {
    const [first] = named;
    const template = commands[name];
    if (template === undefined && first !== undefined)
      throw referenceError(
        first.text,
        first.variable,
        `needs "${name}" under "secrets" in ${home.settingsFile}, which has no such entry`,
        exitCodes.refused,
      );
    if (template === undefined) return [];
    if (template.input !== undefined) return [limit(() => askOnce(template, named, home, signal))];
    return named.map(reference => limit(() => askEach(template, reference, home, signal)));
  });
  try {
    return new Map((await Promise.all(answers)).flat());
  } finally {
    // If one fails, do not wait for the others.
    stop.abort();
  }
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

type Answer = readonly (readonly [reference: string, secret: string])[];

/** Starts one process for one reference. */
async function askEach(
  template: SecretCommand,
  reference: Reference,
  home: Home,
  signal: AbortSignal,
): Promise<Answer> {
  const { text, variable, argument = "" } = reference;
  const takesArgument = template.command.some(part => part.includes("{}"));
  if (takesArgument !== (reference.argument !== undefined)) {
    const what = takesArgument
      ? "needs an ARGUMENT, because the command contains {}"
      : "must not have an ARGUMENT, because the command does not contain {}";
    throw referenceError(text, variable, what, exitCodes.refused);
  }
  if (argument.startsWith("-") && template.command.some(part => part.startsWith("{}")))
    throw referenceError(text, variable, "has an ARGUMENT that the program would read as an option", exitCodes.refused);
  const command = template.command.map(part => part.replaceAll("{}", () => argument));
  return [[text, withoutLineEnd(await ask(command, undefined, [reference], home, signal))]];
}

/** Starts one process for all references of a name, with one line of input and output for each. */
async function askOnce(
  { command, input = "" }: SecretCommand,
  references: readonly Reference[],
  home: Home,
  signal: AbortSignal,
): Promise<Answer> {
  for (const { text, variable, argument } of references)
    if (argument === undefined) throw referenceError(text, variable, "needs an ARGUMENT", exitCodes.refused);
  const lines = references.map(({ argument = "" }) => `${input.replaceAll("{}", () => argument)}\n`).join("");
  const output = await ask(command, lines, references, home, signal);
  const answers = output === "" ? [] : withoutLineEnd(output).split(/\r?\n/);
  if (answers.length !== references.length)
    throw commandFailure(references, `answered with ${answers.length} lines instead of ${references.length}`, command);
  return references.map(({ text }, index) => [text, answers[index] ?? ""]);
}

/** Runs the program and returns its output. Standard error is discarded, because it could contain the secret. */
async function ask(
  command: readonly string[],
  input: string | undefined,
  references: readonly Reference[],
  home: Home,
  signal: AbortSignal,
): Promise<string> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    // Not in the work tree, whose files could change what the program does.
    cwd: home.folder,
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "ignore"],
    windowsHide: true,
  });
  // A program that does not read its input may exit before it is written.
  child.stdin?.on("error", () => {});
  child.stdin?.end(input);
  const output = await outputOf(child, signal).catch((cause: Error) => {
    child.kill("SIGKILL");
    throw commandFailure(references, cause.message, command);
  });
  try {
    return plainText(output);
  } catch {
    throw commandFailure(
      references,
      "printed text that a variable cannot contain: it is not UTF-8, or has a NUL",
      command,
    );
  }
}

/** Resolves with the output. Rejects with the end of a sentence whose subject is the program. */
function outputOf(child: ChildProcess, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const output: Buffer[] = [];
    let bytes = 0;
    const timeOut = () => reject(new Error(`took more than ${timeout / 1_000} seconds`));
    if (signal.aborted) timeOut();
    signal.addEventListener("abort", timeOut, { once: true });
    child.stdout?.on("data", (part: Buffer) => {
      output.push(part);
      bytes += part.length;
      if (bytes > maximumOutput) reject(new Error("printed more than a megabyte"));
    });
    child.once("error", error => reject(new Error(`cannot be started (${"code" in error ? error.code : error.name})`)));
    child.once("exit", (code, ended) => {
      if (code !== 0) reject(new Error(code === null ? `was killed by ${ended}` : `exited with ${code}`));
    });
    // Children of the program may keep its output open; a failure does not wait for them.
    child.once("close", () => resolve(Buffer.concat(output)));
  });
}

function commandFailure(references: readonly Reference[], what: string, command: readonly string[]): CommandError {
  const all = references.map(({ text, variable }) => `${text} (for ${variable})`).join(", ");
  const name = references[0]?.name ?? "";
  const message = `No secret for ${all}: the command "${name}" in settings.json ${what}. To see why, run it yourself: ${command.join(" ")}`;
  return new CommandError(message);
}

function referenceError(text: string, variable: string, what: string, code: 1 | 3): CommandError {
  return new CommandError(`${text} (for ${variable}) ${what}.`, code);
}

function withoutLineEnd(text: string): string {
  return text.replace(/\r?\n$/, "");
}
