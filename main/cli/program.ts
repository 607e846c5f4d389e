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

type AddCommand = (program: Command) => void;

/** Every command, in the order of the help. Loaded on demand, because each one adds to the start time. */
const commands: { readonly [name: string]: () => Promise<AddCommand> } = {
  list: async () => (await import("./commands/list.ts")).addListCommand,
  get: async () => (await import("./commands/get.ts")).addGetCommand,
  check: async () => (await import("./commands/check.ts")).addCheckCommand,
  set: async () => (await import("./commands/set.ts")).addSetCommand,
  unset: async () => (await import("./commands/unset.ts")).addUnsetCommand,
  edit: async () => (await import("./commands/edit.ts")).addEditCommand,
  explain: async () => (await import("./commands/explain.ts")).addExplainCommand,
  search: async () => (await import("./commands/search.ts")).addSearchCommand,
  describe: async () => (await import("./commands/describe.ts")).addDescribeCommand,
  history: async () => (await import("./commands/history.ts")).addHistoryCommand,
  diff: async () => (await import("./commands/diff.ts")).addDiffCommand,
  undo: async () => (await import("./commands/undo.ts")).addUndoCommand,
  restore: async () => (await import("./commands/restore.ts")).addRestoreCommand,
  trust: async () => (await import("./commands/trust.ts")).addTrustCommand,
  watch: async () => (await import("./commands/watch.ts")).addWatchCommand,
  run: async () => (await import("./commands/run.ts")).addRunCommand,
  env: async () => (await import("./commands/env.ts")).addEnvCommand,
  hook: async () => (await import("./commands/hook.ts")).addHookCommand,
  "hook-load": async () => (await import("./commands/hook.ts")).addHookLoadCommand,
  export: async () => (await import("./commands/export.ts")).addExportCommand,
  import: async () => (await import("./commands/import.ts")).addImportCommand,
  backup: async () => (await import("./commands/backup.ts")).addBackupCommand,
  log: async () => (await import("./commands/log.ts")).addLogCommand,
  repo: async () => (await import("./commands/repo.ts")).addRepoCommand,
  schema: async () => (await import("./commands/schema.ts")).addSchemaCommand,
  types: async () => (await import("./commands/types.ts")).addTypesCommand,
  scope: async () => (await import("./commands/scope.ts")).addScopeCommand,
  key: async () => (await import("./commands/key.ts")).addKeyCommand,
  mcp: async () => (await import("./commands/mcp.ts")).addMcpCommand,
  ui: async () => (await import("./commands/ui.ts")).addUiCommand,
  status: async () => (await import("./commands/status.ts")).addStatusCommand,
  daemon: async () => {
    const { addDaemonCommand } = await import("./commands/daemon.ts");
    return program => addDaemonCommand(program, packageJson.version);
  },
  stop: async () => (await import("./commands/stop.ts")).addStopCommand,
  restart: async () => (await import("./commands/stop.ts")).addRestartCommand,
  service: async () => (await import("./commands/service.ts")).addServiceCommand,
  endpoint: async () => (await import("./commands/endpoint.ts")).addEndpointCommand,
  settings: async () => (await import("./commands/settings.ts")).addSettingsCommand,
  doctor: async () => (await import("./commands/doctor.ts")).addDoctorCommand,
  completion: async () => (await import("./commands/completion.ts")).addCompletionCommand,
};

/** The program with the named commands, or with all of them. */
export async function createProgram(names: readonly string[] = Object.keys(commands)): Promise<Command> {
  const program = new Command("repoconf")
    .description(packageJson.description)
    .version(packageJson.version)
    .showSuggestionAfterError()
    // In a narrow terminal too, texts are wrapped beside the names.
    // Their arguments are in the help of each command.
    .configureHelp({ minWidthToWrap: 20, subcommandTerm: command => command.name() })
    // Options after the command name belong to the command.
    .enablePositionalOptions()
    .optionsGroup("Options of most commands, before or after their name:")
    .configureOutput(commanderOutput)
    .hook("preAction", enterStartFolder)
    .hook("preAction", applyLeadingOptions)
    .hook("preAction", refuseEmptyOptions)
    .exitOverride();
  program.addOption(startFolderOption);
  for (const option of leadingOptions()) program.addOption(option);
  const wanted = await Promise.all(names.map(name => commands[name]?.()));
  for (const addCommand of wanted) addCommand?.(program);
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

/** The commands that these arguments can run; undefined for all, so that help and suggestions know them. */
function neededCommands(args: readonly string[]): readonly string[] | undefined {
  const valued = [startFolderOption, ...leadingOptions()].filter(option => option.required);
  let index = 0;
  while (args[index]?.startsWith("-"))
    index += valued.some(({ long, short }) => args[index] === (long ?? short)) ? 2 : 1;
  const first = args[index];
  if (args[0] === "--version" || args[0] === "-V") return [];
  return first !== undefined && Object.hasOwn(commands, first) && first !== "completion" ? [first] : undefined;
}

/** Parses the command line, runs the command, and exits with a code of exit-codes.ts. */
export async function runProgram(argv: readonly string[]): Promise<void> {
  watchOutput();
  if (process.env["NODE_OPTIONS"]) closeUnwantedDebugger();
  try {
    if (argv.some(argument => argument.includes("\uFFFD")))
      await (await import("./system/argument-bytes.ts")).refuseOtherEncodings();
    const program = await createProgram(neededCommands(argv.slice(2)));
    await program.parseAsync(argv);
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
