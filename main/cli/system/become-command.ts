import { accessSync, constants, statSync } from "node:fs";
import { join } from "node:path";
import { releaseOutput } from "../output/terminal.ts";

/** Starts the command and says what is wrong if it cannot. Node ends with a crash if `execve` fails, so it only ever gets this one. */
const env = "/usr/bin/env";
/** Linux refuses texts of this many bytes, and systems all texts together above a megabyte or two. */
const [longestText, mostBytes] = [131_072, 900_000];

/**
 * Replaces this process by the command, which gets the process id, the terminal and every signal, and whose end is that of this process.
 * Returns if that is not sure to succeed: on Windows, on Node before 22.15 and 23.11, for a program that is not there, and for an environment
 * that the system may refuse.
 */
export function becomeCommand(command: readonly string[], variables: { readonly [name: string]: string }): void {
  const { execve } = process;
  const environment = { ...process.env, ...variables };
  if (process.platform === "win32" || execve === undefined || !isSure(command, environment)) return;
  // Node ignores these two, and what is ignored stays so in the command; what has a handler does not.
  for (const signal of ["SIGPIPE", "SIGXFSZ"] as const) process.on(signal, () => {});
  releaseOutput();
  execve(env, ["env", ...command], environment);
}

function isSure(command: readonly string[], environment: NodeJS.ProcessEnv): boolean {
  const [program = ""] = command;
  // env would take these for its options and variables.
  if (program === "" || program.startsWith("-") || program.includes("=")) return false;
  const texts = [...command, ...Object.entries(environment).map(([name, text = ""]) => `${name}=${text}`)];
  const lengths = texts.map(text => Buffer.byteLength(text) + 1);
  const bytes = lengths.reduce((sum, length) => sum + length + 8, 0);
  if (bytes > mostBytes || lengths.some(length => length > longestText)) return false;
  const folders = program.includes("/") ? [""] : (environment["PATH"]?.split(":") ?? []);
  return (
    isExecutable(env) &&
    folders.some(folder => isExecutable(program.includes("/") ? program : join(folder || ".", program)))
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
