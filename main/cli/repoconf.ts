#!/usr/bin/env node
// The command's entry point. It imports nothing that fails on an older Node, so that it can print that it is too old.
import { loadOneShot } from "./load-one-shot.ts";
import type { OneShotName } from "./one-shot/run.ts";

// As in main/client/needed-node.ts; a command that is one request loads one file.
const [neededMajor, neededMinor] = [22, 13];
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

/** The commands that mostly are one request to a running daemon. The build makes a file of its own for them (vite.one-shot.config.ts). */
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
  const [name = "", ...args] = process.argv.slice(2);
  // With options for Node, the long way may have a debugger to close.
  if (isOneShot(name) && !process.env["NODE_OPTIONS"]) await runShort(name, args);
  // Node keeps the compiled code of what it loads from here on beside it, if it may write there.
  process.getBuiltinModule("node:module").enableCompileCache(`${import.meta.dirname}/compiled`);
  await (await import("./program.ts")).runProgram(process.argv);
}

async function runShort(name: OneShotName, args: readonly string[]): Promise<void> {
  const short = loadOneShot(`${import.meta.dirname}/one-shot.js`);
  const home = await short?.runOneShot(name, args);
  if (home === undefined) return;
  const { startOrEnd } = await import("./connect/start-or-end.ts");
  await startOrEnd(home);
  await short?.runOneShot(name, args);
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
