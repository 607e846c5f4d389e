import type { Home } from "../../home/home.ts";
import { endProcess } from "../output/end-process.ts";
import { exitCodeOf } from "../output/exit-codes.ts";
import { describeError } from "../output/messages.ts";
import { printFailure, showProgress, waitingShownAfter } from "../output/terminal.ts";
import { startDaemonInBackground } from "./background.ts";

/** Starts the daemon of a home for a command that is one request. If that fails, says why and ends the process. */
export async function startOrEnd(home: Home): Promise<void> {
  const waiting = setTimeout(() => showProgress("Waiting for the daemon…"), waitingShownAfter);
  try {
    await startDaemonInBackground(home);
  } catch (error) {
    showProgress("");
    printFailure(describeError(error));
    process.exitCode = exitCodeOf(error);
    await endProcess();
  } finally {
    clearTimeout(waiting);
    showProgress("");
  }
}
