/**
 * A real daemon that kills itself: `dying-daemon.ts HOME`. After a message with the number of a file-system call, its process
 * dies by SIGKILL at that call, counted from then on, either before or after it: a kill -9 at an exact step.
 */
import { flushCompileCache } from "node:module";
import { pino } from "pino";
import { createDaemon } from "../../main/daemon/daemon.ts";
import { systemClock } from "../../main/time/clock.ts";
import { CallOrder, last } from "./call-order.ts";
import { watchFileSystem } from "./file-system.ts";

/** The message to the process. */
export interface Death {
  /** Counted from 1. */
  readonly call: number;
  readonly when: "before" | "after";
  /** Which of two parallel operations finishes last: see `last` in call-order.ts. Undefined: as it happens. */
  readonly last?: "journal" | "tmp";
}

/** The other message to the process: from now on its clock, as for timestamps, differs from the system's by so many milliseconds. */
export interface ClockStep {
  readonly ahead: number;
}

/** The messages from the process. */
export type DyingDaemonMessage = { readonly kind: "ready"; readonly url: string } | { readonly kind: "armed" };

const fileSystem = watchFileSystem();
const die = () => process.kill(process.pid, "SIGKILL");
let ahead = 0;
process.on("message", (message: Death | ClockStep) => {
  if ("ahead" in message) {
    ahead = message.ahead;
    return;
  }
  const { call, when, last: folder } = message;
  const begin = fileSystem.calls.length;
  const order = folder && new CallOrder(last(folder));
  fileSystem.before = made => {
    if (when === "before" && fileSystem.calls.length - begin >= call) die();
    return order?.turnOf(made);
  };
  fileSystem.ended = made => order?.ended(made);
  fileSystem.after = () => {
    if (when === "after" && fileSystem.calls.length - begin >= call) die();
  };
  process.send?.({ kind: "armed" } satisfies DyingDaemonMessage);
});
// The parent process has ended.
process.on("disconnect", () => process.exit());

const [, , home = ""] = process.argv;
const logger = pino({ level: "silent" });
const clock = { ...systemClock, now: () => systemClock.now() + ahead };
const surroundings = { fileSystem, clock, rescanInterval: 3_600_000 };
const daemon = await createDaemon({ home, version: "0.0.0-test", port: 0, logger }, surroundings);
process.once("SIGTERM", () => void daemon.close().then(() => process.exit()));
// Flushed here if there is a cache; a killed process would not write it.
flushCompileCache();
process.send?.({ kind: "ready", url: daemon.url } satisfies DyingDaemonMessage);
