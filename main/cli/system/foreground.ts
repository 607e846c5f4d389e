import { readFileSync } from "node:fs";
import { isatty } from "node:tty";

/** Whether the keys of a terminal reach this process, and so the command too: only those of the group in its foreground get them. */
export function isInForeground(): boolean {
  try {
    // After the name, which may contain anything: state, parent, group, session, terminal, and the group in its foreground.
    const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ");
    return fields?.[2] === fields?.[5];
  } catch {
    // Does not touch process.stdin, which would start to read the command's input.
    return [0, 1, 2].some(descriptor => isatty(descriptor));
  }
}
