import { setTimeout as delay } from "node:timers/promises";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { visible } from "../../../shared/visible.ts";
import { ask } from "../../client/ask.ts";
import { homeAt, homeFolder } from "../../home/home.ts";
import { print } from "../output/terminal.ts";

/** Milliseconds that a completion may take in total. */
export const completionTimeout = 800;

/** The commands whose arguments are fields, with what follows the field. */
const ofFields: { readonly [command: string]: string } = { get: "", unset: "", explain: "", history: "", set: "=" };

/** `repoconf complete`, which the scripts of shells call: for a field that is the argument of a command. */
export async function complete(words: readonly string[]): Promise<boolean> {
  const [command = "", ...given] = words;
  const typed = given.at(-1);
  const end = Object.hasOwn(ofFields, command) ? ofFields[command] : undefined;
  // Options are for the long way, and so are the places and values in a field, which need the repository.
  if (end === undefined || typed === undefined || given.some(word => word.startsWith("-") || word.includes("=")))
    return false;
  if ((command === "explain" || command === "history") && given.length > 1) return false;
  const fields = await Promise.race([fieldNames(), delay(completionTimeout, [])]);
  if (fields === undefined || fields.some(field => typed.startsWith(`${field}.`))) return false;
  const subcommands = command === "history" && "forget".startsWith(typed) ? ["forget"] : [];
  const named = fields.map(field => `${field}${end}`).filter(candidate => candidate.startsWith(typed));
  // A candidate with control characters would be escaped when printed, and then not work as an argument.
  print(...subcommands, ...named.filter(candidate => visible(candidate) === candidate));
  return true;
}

/** Undefined if the daemon cannot be asked. */
async function fieldNames(): Promise<readonly string[] | undefined> {
  try {
    const { result, errors } = await ask(
      homeAt(homeFolder(undefined)),
      "scope/list",
      {},
      { timeout: completionTimeout },
    );
    if (errors.length > 0) return undefined;
    return result.flatMap(({ scope, schema }) =>
      Object.keys(schema.properties).map(field => joinConfigPath(scope, field)),
    );
  } catch {
    return undefined;
  }
}
