import { Command, CommanderError } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { addBackupCommand } from "./backup.ts";
import { addCompletionCommand } from "./completion.ts";
import { addDaemonCommand } from "./daemon.ts";
import { addDescribeCommand } from "./describe.ts";
import { addDiffCommand } from "./diff.ts";
import { addDoctorCommand } from "./doctor.ts";
import { addEndpointCommand } from "./endpoint.ts";
import { exitCodeOf, exitCodes } from "./exit-codes.ts";
import { addExplainCommand } from "./explain.ts";
import { addExportCommand } from "./export.ts";
import { addGetCommand } from "./get.ts";
import { addHistoryCommand } from "./history.ts";
import { addImportCommand } from "./import.ts";
import { addKeyCommand } from "./key.ts";
import { addListCommand } from "./list.ts";
import { describeError } from "./messages.ts";
import { addRepoCommand } from "./repo.ts";
import { addRestoreCommand } from "./restore.ts";
import { addScopeCommand } from "./scope.ts";
import { addServiceCommand } from "./service.ts";
import { addSetCommand } from "./set.ts";
import { addSettingsCommand } from "./settings.ts";
import { addStatusCommand } from "./status.ts";
import { addRestartCommand, addStopCommand } from "./stop.ts";
import { addUiCommand } from "./ui.ts";
import { addUndoCommand } from "./undo.ts";
import { addUnsetCommand } from "./unset.ts";
import { addWatchCommand } from "./watch.ts";

/** Every command, in the order in which the help shows them. */
export function createProgram(): Command {
  const program = new Command("repoconf")
    .description(packageJson.description)
    .version(packageJson.version)
    .showSuggestionAfterError()
    .showHelpAfterError("Try repoconf --help, or --help after the command.")
    .exitOverride();
  addListCommand(program);
  addGetCommand(program);
  addSetCommand(program);
  addUnsetCommand(program);
  addExplainCommand(program);
  addDescribeCommand(program);
  addHistoryCommand(program);
  addDiffCommand(program);
  addUndoCommand(program);
  addRestoreCommand(program);
  addWatchCommand(program);
  addExportCommand(program);
  addImportCommand(program);
  addBackupCommand(program);
  addRepoCommand(program);
  addScopeCommand(program);
  addKeyCommand(program);
  addUiCommand(program);
  addStatusCommand(program);
  addDaemonCommand(program, packageJson.version);
  addStopCommand(program);
  addRestartCommand(program);
  addServiceCommand(program);
  addEndpointCommand(program);
  addSettingsCommand(program);
  addDoctorCommand(program);
  addCompletionCommand(program);
  return program;
}

/** Reads the command line, runs the command, and leaves with a code of exit-codes.ts. */
export async function runProgram(argv: readonly string[]): Promise<void> {
  // A reader that leaves early, as head does, is no failure of ours.
  process.stdout.on("error", error => {
    if ("code" in error && error.code === "EPIPE") process.exit(exitCodes.done);
    throw error;
  });
  try {
    await createProgram().parseAsync(argv);
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
      return;
    }
    process.stderr.write(`repoconf: ${describeError(error)}\n`);
    process.exitCode = exitCodeOf(error);
  }
}
