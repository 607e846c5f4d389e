import { Command } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { addDaemonCommand } from "./daemon.ts";

/** Reads the command line and runs the command. Usage errors leave with exit code 2, failures with 1. */
export async function runProgram(argv: readonly string[]): Promise<void> {
  const program = new Command("repoconf")
    .description(packageJson.description)
    .version(packageJson.version)
    .showSuggestionAfterError()
    .showHelpAfterError("Try repoconf --help.")
    .exitOverride(error => {
      process.exit(error.exitCode === 0 ? 0 : 2);
    });
  addDaemonCommand(program, packageJson.version);
  try {
    await program.parseAsync(argv);
  } catch (error) {
    process.stderr.write(`repoconf: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
