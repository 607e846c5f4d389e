import { printNote } from "../output/terminal.ts";

/**
 * Closes the debugger that NODE_OPTIONS opened in this process, for example in a terminal of an editor that debugs everything: any user
 * of the machine can connect to it and gets the owner's key. One that was asked for as an argument of Node stays open.
 */
export function closeUnwantedDebugger(): void {
  if (!process.features.inspector || process.execArgv.some(argument => argument.startsWith("--inspect"))) return;
  const inspector = process.getBuiltinModule("node:inspector");
  if (inspector.url() === undefined) return;
  inspector.close();
  printNote(
    "Closed the debugger that NODE_OPTIONS opened: every user of this machine could have connected to it. To debug this process, run: node --inspect",
  );
}
