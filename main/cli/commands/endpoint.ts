import type { Command } from "commander";
import { addHomeOption, addJsonOption, type OutputOptions } from "../command-options.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";

/** `repoconf endpoint`: prints the URL of the running daemon, for tools that do not find it themselves. Starts none. */
export function addEndpointCommand(program: Command): void {
  addJsonOption(addHomeOption(program.command("endpoint")))
    .description("print the URL of the running daemon, after verifying its identity")
    .action(endpoint);
}

async function endpoint(options: OutputOptions & { readonly home?: string }): Promise<void> {
  const { waitForLockState, unreachable } = await import("../connect/lock-holder.ts");
  const { homeOf } = await import("../connect/session.ts");
  const { print, printJson } = await import("../output/terminal.ts");
  const home = homeOf(options);
  const { held, endpoint: found } = await waitForLockState(home);
  if (found === undefined && held) throw await unreachable(home);
  if (found === undefined)
    throw new CommandError(
      `No daemon is running on the home ${home.folder}. Start one: repoconf daemon`,
      exitCodes.noDaemon,
    );
  const { instanceSecret: _, ...shown } = found;
  if (options.json) printJson(shown);
  else print(found.url);
}
