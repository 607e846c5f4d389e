import { type ChildProcess, spawn } from "node:child_process";
import { plainText } from "../../files/utf8-text.ts";

/** Bytes of one program's output. */
const maximumOutput = 1_048_576;

/** When its program is killed: the signal's, after so many seconds. */
export interface SecretTimeout {
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/**
 * Runs a program that prints secrets, and returns its output. Rejects with the end of a sentence whose subject is the program. Standard error is
 * discarded, because it could contain a secret.
 */
export async function runSecretCommand(
  command: readonly string[],
  input: string | undefined,
  folder: string,
  timeout: SecretTimeout,
): Promise<string> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    // Not in the work tree, whose files could change what the program does.
    cwd: folder,
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "ignore"],
    windowsHide: true,
  });
  // A program that does not read its input may exit before it is written.
  child.stdin?.on("error", () => {});
  child.stdin?.end(input);
  const output = await outputOf(child, timeout).catch((cause: Error) => {
    child.kill("SIGKILL");
    throw cause;
  });
  try {
    return plainText(output);
  } catch {
    throw new Error("printed text that a variable cannot contain: it is not UTF-8, or has a NUL");
  }
}

function outputOf(child: ChildProcess, { seconds, signal }: SecretTimeout): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const output: Buffer[] = [];
    let bytes = 0;
    const timeOut = () => reject(new Error(`took more than ${seconds} seconds`));
    if (signal.aborted) timeOut();
    signal.addEventListener("abort", timeOut, { once: true });
    child.stdout?.on("data", (part: Buffer) => {
      output.push(part);
      bytes += part.length;
      if (bytes > maximumOutput) reject(new Error("printed more than a megabyte"));
    });
    child.once("error", error => reject(new Error(`cannot be started (${"code" in error ? error.code : error.name})`)));
    child.once("exit", (code, ended) => {
      if (code !== 0) reject(new Error(code === null ? `was killed by ${ended}` : `exited with ${code}`));
    });
    // Children of the program may keep its output open; a failure does not wait for them.
    child.once("close", () => resolve(Buffer.concat(output)));
  });
}
