import type { Home } from "../../home/home.ts";
import { endProcess } from "../output/end-process.ts";
import { exitCodeOf } from "../output/exit-codes.ts";
import { describeError } from "../output/messages.ts";
import { printFailure, showingWait } from "../output/terminal.ts";
import { startDaemonInBackground } from "./background.ts";

/** Starts the daemon of a home for a command that is one request. If that fails, says why and ends the process. */
export async function startOrEnd(home: Home): Promise<void> {
  try {
    await showingWait(() => startDaemonInBackground(home));
  } catch (error) {
    printFailure(describeError(error));
    process.exitCode = exitCodeOf(error);
    await endProcess();
  }
}
