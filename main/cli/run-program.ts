import { Command, CommanderError } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import {
  applyLeadingOptions,
  enterStartFolder,
  leadingOptions,
  refuseEmptyOptions,
  startFolderOption,
} from "./command-options.ts";
import { endProcess, watchOutput } from "./output/end-process.ts";
import { exitCodeOf, exitCodes } from "./output/exit-codes.ts";
import { describeError } from "./output/messages.ts";
import { commanderOutput, printFailure, printNote } from "./output/terminal.ts";

export type AddCommand = (program: Command) => void;

/** The program with these commands. */
export function assembleProgram(added: readonly AddCommand[]): Command {
  const program = new Command("repoconf")
    .description(packageJson.description)
    .version(packageJson.version)
    .showSuggestionAfterError()
    // In a narrow terminal too, texts are wrapped beside the names.
    // Their arguments are in the help of each command.
    .configureHelp({ minWidthToWrap: 20, subcommandTerm: command => command.name() })
    // Options after the command name belong to the command.
    .enablePositionalOptions()
    .configureOutput(commanderOutput)
    .hook("preAction", enterStartFolder)
    .hook("preAction", applyLeadingOptions)
    .hook("preAction", refuseEmptyOptions)
    .exitOverride();
  program.addOption(startFolderOption).optionsGroup("Options of most commands, before or after their name:");
  for (const option of leadingOptions()) program.addOption(option);
  for (const addCommand of added) addCommand(program);
  program
    .showHelpAfterError("To list all commands: repoconf --help")
    .configureOutput({ ...commanderOutput, outputError: (text, write) => write(withCommandMeant(text)) });
  for (const command of program.commands) showUsageAfterError(command);
  return program;
}

/** After an error in its arguments, a command says how it is used. */
function showUsageAfterError(command: Command): void {
  const usage = command.createHelp().commandUsage(command);
  const [name] = usage.split(/ (?=[[<])/);
  command.showHelpAfterError(`Usage: ${usage}\nFor more: ${name} --help`);
  for (const inner of command.commands) showUsageAfterError(inner);
}

/** Commands by the words that other programs have for them. */
const meantBy: { readonly [word: string]: string } = {
  init: "repo add",
  add: "repo add",
  clone: "repo add",
  remove: "repo remove, or unset for a value",
  rm: "repo remove, or unset for a value",
  delete: "repo remove, or unset for a value",
  config: "list, get or set",
  show: "list or get",
  ls: "list or repo list",
  revert: "undo or restore",
  start: "daemon",
  keys: "key list",
  repos: "repo list",
  find: "search",
  validate: "check",
};

/** The error of an unknown command, with the command that has another name here. */
function withCommandMeant(text: string): string {
  const [, word = ""] = /^error: unknown command '(.*)'/.exec(text) ?? [];
  return Object.hasOwn(meantBy, word) ? `error: unknown command '${word}'\n(Did you mean ${meantBy[word]}?)\n` : text;
}

/** Parses the command line, runs the command, and exits with a code of exit-codes.ts. */
export async function runProgram(argv: readonly string[], create: () => Promise<Command>): Promise<void> {
  watchOutput();
  if (process.env["NODE_OPTIONS"]) closeUnwantedDebugger();
  try {
    if (argv.some(argument => argument.includes("\uFFFD")))
      await (await import("./system/argument-bytes.ts")).refuseOtherEncodings();
    await (await create()).parseAsync(argv);
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    } else {
      printFailure(describeError(error));
      process.exitCode = exitCodeOf(error);
    }
  }
  await endProcess();
}

/**
 * Closes the debugger that NODE_OPTIONS opened in this process, for example in a terminal of an editor that debugs everything: any user
 * of the machine can connect to it and gets the owner's key. One that was asked for as an argument of Node stays open.
 */
function closeUnwantedDebugger(): void {
  if (!process.features.inspector || process.execArgv.some(argument => argument.startsWith("--inspect"))) return;
  const inspector = process.getBuiltinModule("node:inspector");
  if (inspector.url() === undefined) return;
  inspector.close();
  printNote(
    "Closed the debugger that NODE_OPTIONS opened: every user of this machine could have connected to it. To debug this process, run: node --inspect",
  );
}
