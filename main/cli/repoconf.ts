#!/usr/bin/env node
// The command's entry point. It imports nothing that fails on an older Node, so that it can print this message.
const neededMajor = 24;
const major = Number(process.versions.node.split(".", 1)[0]);
if (major < neededMajor) {
  process.stderr.write(`repoconf needs Node ${neededMajor} or newer, but this is Node ${process.versions.node}.\n`);
  process.exitCode = 1;
} else {
  const { runProgram } = await import("./program.ts");
  await runProgram(process.argv);
}
