import { readEndpoint } from "../../home/endpoint-file.ts";
import type { Home } from "../../home/home.ts";
import { endProcess } from "../output/end-process.ts";
import { exitCodeOf } from "../output/exit-codes.ts";
import { describeError } from "../output/messages.ts";
import { printFailure, showingWait } from "../output/terminal.ts";
import { startDaemonInBackground } from "./background.ts";

/** Starts the daemon of a home that has no endpoint, for a command that is one request. If that fails, says why and ends the process. */
export async function startOrEnd(home: Home): Promise<void> {
  try {
    // There was no endpoint, so there is one once the daemon is ready. The request itself shows whether it is the home's.
    await showingWait(() => startDaemonInBackground(home, { find: readEndpoint }));
  } catch (error) {
    printFailure(describeError(error));
    process.exitCode = exitCodeOf(error);
    await endProcess();
  }
}
