import packageJson from "../../package.json" with { type: "json" };
import { addDaemonCommand, type DaemonCommandOptions } from "./commands/daemon.ts";
import { runDaemon } from "./run-daemon.ts";
import { assembleProgram, runProgram } from "./run-program.ts";

/** Runs `repoconf daemon`, which is a file of its own in the build, and exits. `keepCode`: as in run-daemon.ts. */
export function runDaemonCommand(argv: readonly string[], keepCode: () => void): Promise<void> {
  const run = (options: DaemonCommandOptions) => runDaemon(options, packageJson.version, keepCode);
  return runProgram(argv, async () => assembleProgram([program => addDaemonCommand(program).action(run)]));
}
