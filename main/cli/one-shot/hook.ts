import { hookShells, needsCommand } from "../../hook/lines.ts";
import { type HookOptions, printHook } from "../commands/hook.ts";
import { socketLine } from "../environment/socket-line.ts";
import { printValue } from "../output/terminal.ts";
import { askDaemon, placeIn } from "./ask-daemon.ts";

/** `repoconf hook`, which asks no daemon. */
export async function hook([shell]: readonly string[], options: HookOptions): Promise<boolean> {
  const known = hookShells.find(one => one === shell);
  if (known !== undefined) printHook(known, options);
  return known !== undefined;
}

/** `repoconf hook-load`, which the scripts of shells call where they cannot ask the daemon themselves. */
export async function hookLoad([shell]: readonly string[]): Promise<boolean> {
  const [known, place] = [hookShells.find(one => one === shell), placeIn({})];
  if (known === undefined || place === undefined || !("path" in place)) return false;
  const reply = await askDaemon("config/hook", { ...place, shell: known }, {});
  // Secrets are fetched the long way.
  if (reply === undefined || reply.errors.length > 0 || needsCommand(reply.result, known)) return false;
  printValue(socketLine(known) + reply.result);
  return true;
}
