import { foreignDisks } from "../files/foreign-disks.ts";
import type { ExitCode } from "./exit-codes.ts";

/**
 * Ends this process. Call it when everything is written. A normal exit waits for the threads of Node, so it would never come while a disk
 * of others does not answer.
 */
export function exitProcess(code?: ExitCode): never {
  if (foreignDisks.hung.length > 0) process.kill(process.pid, "SIGKILL");
  process.exit(code);
}
