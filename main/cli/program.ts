import type { Command } from "commander";
import { type AddCommand, assembleProgram, runProgram } from "./run-program.ts";

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
  // Only for the help: daemon-program.ts runs it.
  daemon: async () => (await import("./commands/daemon.ts")).addDaemonCommand,
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
  const wanted = await Promise.all(names.map(name => commands[name]?.()));
  return assembleProgram(wanted.filter(add => add !== undefined));
}

/** Runs the named command the long way, or says that there is none, and exits. */
export function runCommand(argv: readonly string[], name: string): Promise<void> {
  const [first] = argv.slice(2);
  if (first === "--version" || first === "-V") return runProgram(argv, () => createProgram([]));
  // Help and suggestions know all.
  const isOne = Object.hasOwn(commands, name) && name !== "completion";
  return runProgram(argv, () => createProgram(isOne ? [name] : undefined));
}
