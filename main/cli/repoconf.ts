#!/usr/bin/env node
// The command's entry point. It imports nothing that fails on an older Node, so that it can print this message.
import type { OneShotName } from "./one-shot/run.ts";

const neededMajor = 24;
const major = Number(process.versions.node.split(".", 1)[0]);
/** The commands that mostly are one request to a running daemon. The build makes a file of its own for them (vite.one-shot.config.ts). */
const oneShot: { readonly [Name in OneShotName]: true } = {
  get: true,
  set: true,
  unset: true,
  env: true,
  run: true,
  describe: true,
  hook: true,
  complete: true,
};

if (major < neededMajor) {
  process.stderr.write(`repoconf needs Node ${neededMajor} or newer, but this is Node ${process.versions.node}.\n`);
  process.exitCode = 1;
} else {
  const [name = "", ...args] = process.argv.slice(2);
  if (isOneShot(name)) await (await import("./one-shot/run.ts")).runOneShot(name, args);
  await (await import("./program.ts")).runProgram(process.argv);
}

function isOneShot(name: string): name is OneShotName {
  return Object.hasOwn(oneShot, name);
}
