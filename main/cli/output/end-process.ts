import { describeCause } from "../../files/describe-cause.ts";
import { exitCodes, exitProcess } from "./exit-codes.ts";
import { flushOutput, printFailure } from "./terminal.ts";

/** Ends the process if its output cannot be written. */
export function watchOutput(): void {
  // A reader that closes the pipe early, like head, is not an error.
  if (process.stdout.listenerCount("error") === 0)
    process.stdout.on("error", error => {
      if ("code" in error && error.code === "EPIPE") process.exit(exitCodes.done);
      printFailure(`The output cannot be written: ${describeCause(error)}`);
      exitProcess(exitCodes.failed);
    });
}

/** Everything is done once the output is written; there is no need to wait for connections to close. */
export async function endProcess(): Promise<never> {
  await flushOutput();
  exitProcess();
}
