import { foreignDisks } from "../../files/foreign-disks.ts";
import { exitCodes } from "./exit-codes.ts";

/**
 * Ends this process. Call it when everything is written. A normal exit waits for the threads of Node, so it would never come while a disk
 * of others does not answer.
 */
export function exitProcess(code = process.exitCode): never {
  if (foreignDisks.hung.length > 0) process.kill(process.pid, "SIGKILL");
  // Not exit(undefined), which would mean success.
  process.exit(code ?? exitCodes.done);
}
