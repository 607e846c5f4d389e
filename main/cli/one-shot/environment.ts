import { isSecretReference } from "../../../shared/scopes/hidden-values.ts";
import { listField, variablesOf } from "../../../shared/variables.ts";
import type { EnvOptions } from "../commands/env.ts";
import type { RunOptions } from "../commands/run.ts";
import { environmentText } from "../environment/formats.ts";
import { flushOutput, isTerminal, printValue } from "../output/terminal.ts";
import { becomeCommand } from "../system/become-command.ts";
import { runOnce } from "../system/child-command.ts";
import { askAbout, fieldsOf } from "./ask-daemon.ts";

/** `repoconf env`. */
export async function env(_none: readonly string[], options: EnvOptions): Promise<boolean> {
  if (isTerminal() && !options.reveal) return false;
  const variables = await readEnvironment(options);
  if (variables === undefined) return false;
  const text = environmentText(variables, options.format);
  if (text !== "") printValue(text);
  return true;
}

/** `repoconf run`. */
export async function run(command: readonly string[], options: RunOptions): Promise<boolean> {
  const variables = await readEnvironment(options, true);
  if (variables === undefined) return false;
  becomeCommand(command, variables);
  const code = await runOnce(command, variables);
  await flushOutput();
  process.exit(code);
}

/** Undefined for the long way, which also reads secrets: that takes longer than any start. */
async function readEnvironment(
  options: RunOptions,
  isForRun = false,
): Promise<{ readonly [name: string]: string } | undefined> {
  const reply = await askAbout("config/list", { schemas: true, waits: true }, options);
  if (reply === undefined || reply.errors.length > 0) return undefined;
  // The long way says what is left out.
  if (!fieldsOf(reply).has(listField)) return undefined;
  const { result: config, repo = options.repo ?? "", waits = [], linked, masked = [] } = reply;
  try {
    const waiting = new Set(waits);
    const variables = variablesOf({ repo, config, fields: fieldsOf(reply), waiting, masked, linked, isForRun });
    const texts = Array.from(variables, ([name, { text }]) => [name, text] as const);
    return texts.some(([, text]) => isSecretReference(text)) ? undefined : Object.fromEntries(texts);
  } catch {
    return undefined;
  }
}
