/**
 * A real daemon that kills itself: `dying-daemon.ts HOME`. Told a number by message, its process dies by SIGKILL at that
 * file-system call from then on, before it is made, or after it where the message says so: a kill -9 at an exact step.
 */
import { flushCompileCache } from "node:module";
import { pino } from "pino";
import { createDaemon } from "../../main/daemon/daemon.ts";
import { CallOrder, last } from "./call-order.ts";
import { watchFileSystem } from "./file-system.ts";

/** Sent to the process. */
export interface Death {
  /** Counted from 1. */
  readonly call: number;
  readonly when: "before" | "after";
  /** What comes last of what is done side by side: see `last` in call-order.ts. Undefined: as it happens. */
  readonly last?: "journal" | "tmp";
}

/** Sent by the process. */
export type DyingDaemonMessage = { readonly kind: "ready"; readonly url: string } | { readonly kind: "armed" };

const fileSystem = watchFileSystem();
const die = () => process.kill(process.pid, "SIGKILL");
process.on("message", ({ call, when, last: folder }: Death) => {
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
// The process that started it has ended.
process.on("disconnect", () => process.exit());

const [, , home = ""] = process.argv;
const logger = pino({ level: "silent" });
const { url } = await createDaemon({
  home,
  version: "0.0.0-test",
  port: 0,
  logger,
  fileSystem,
  rescanInterval: 3_600_000,
});
// Where there is a cache; a killed process would leave nothing in it.
flushCompileCache();
process.send?.({ kind: "ready", url } satisfies DyingDaemonMessage);
