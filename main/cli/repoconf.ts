#!/usr/bin/env node
// The file that the command starts with. It imports nothing that an older Node could stumble over.
const neededMajor = 24;
const major = Number(process.versions.node.split(".", 1)[0]);
if (major < neededMajor) {
  process.stderr.write(`repoconf needs Node ${neededMajor} or newer, and this is Node ${process.versions.node}.\n`);
  process.exitCode = 1;
} else {
  // Before anything uses the pool of threads, of which Node has four: writes of many repositories wait for the disk together.
  if (process.argv[2] === "daemon") process.env["UV_THREADPOOL_SIZE"] ??= "16";
  const { runProgram } = await import("./program.ts");
  await runProgram(process.argv);
}
