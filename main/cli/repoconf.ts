#!/usr/bin/env node
// The command's entry point. It imports nothing that fails on an older Node, so that it can print that it is too old.
import { indexOfCommand } from "./command-place.ts";
import { type Compiled, keepCodeOfModules, loadCompiled } from "./load-compiled.ts";
import type { OneShotName } from "./one-shot/run.ts";
import { growthWhileLoading } from "./young-generation.ts";

// As in main/client/needed-node.ts; a command that is one request loads one file.
const [neededMajor, neededMinor] = [22, 13];
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

/** The commands that mostly are one request to a running daemon. The build makes a file of its own for them. */
const oneShot: { readonly [Name in OneShotName]: true } = {
  get: true,
  set: true,
  unset: true,
  env: true,
  run: true,
  describe: true,
  list: true,
  explain: true,
  history: true,
  undo: true,
  hook: true,
  "hook-load": true,
  complete: true,
};

if (major < neededMajor || (major === neededMajor && minor < neededMinor)) {
  const needed = `${neededMajor}.${neededMinor}`;
  process.stderr.write(`repoconf needs Node ${needed} or newer, but this is Node ${process.versions.node}.\n`);
  process.exitCode = 1;
} else {
  if (major < 24) hideSqliteWarning();
  const args = process.argv.slice(2);
  const name = args[indexOfCommand(args)] ?? "";
  if (name === "daemon") await runDaemon();
  // With options for Node, the long way may have a debugger to close.
  if (isOneShot(name) && !process.env["NODE_OPTIONS"]) await runShort(name, args);
  keepCodeOfModules(import.meta.dirname);
  await (await import("./program.ts")).runCommand(process.argv, name);
}

async function runShort(name: OneShotName, args: readonly string[]): Promise<void> {
  // Of the options that may precede the name, only -C is often there.
  const isElsewhere = args[0] === "-C" && args[2] === name;
  if (isElsewhere ? !enter(args[1] ?? "") : args[0] !== name) return;
  const rest = args.slice(isElsewhere ? 3 : 1);
  const short = load<typeof import("./one-shot/run.ts")>("one-shot");
  if (short === undefined) return;
  short.keepCode("all functions");
  const home = await short.exports.runOneShot(name, rest);
  if (home === undefined) return;
  const start = load<typeof import("./connect/start-or-end.ts")>("start-or-end");
  if (start === undefined) return;
  start.keepCode("all functions");
  await start.exports.startOrEnd(home);
  await short.exports.runOneShot(name, rest);
}

/** Changes to a folder, which the long way then finds as an absolute path. False if it cannot, which the long way says. */
function enter(folder: string): boolean {
  try {
    process.chdir(folder);
  } catch {
    return false;
  }
  process.argv[3] = process.cwd();
  return true;
}

async function runDaemon(): Promise<void> {
  process.getBuiltinModule("node:v8").setFlagsFromString(`--semi-space-growth-factor=${growthWhileLoading}`);
  const daemon = load<typeof import("./daemon-program.ts")>("daemon");
  if (daemon !== undefined) return daemon.exports.runDaemonCommand(process.argv, () => daemon.keepCode("what has run"));
  // There is no build, as in some tests. A bundler does not follow this.
  const source = `${import.meta.dirname}/daemon-program.ts`;
  const program: typeof import("./daemon-program.ts") = await import(source);
  return program.runDaemonCommand(process.argv, () => {});
}

/** A part of the command that is one file of the build; undefined if there is no such build. */
function load<Exports>(name: string): Compiled<Exports> | undefined {
  return loadCompiled<Exports>(`${import.meta.dirname}/${name}.js`);
}

function isOneShot(name: string): name is OneShotName {
  return Object.hasOwn(oneShot, name);
}

/** Node 22 warns that node:sqlite is experimental whenever it is loaded. It holds the home's lock (main/home/lock.ts). */
function hideSqliteWarning(): void {
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).startsWith("SQLite ")) Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
}
