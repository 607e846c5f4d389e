import type { ShellBridge } from "../shared/shell-bridge.ts";

/** The desktop app around this page; undefined in a browser. */
export const shell = Reflect.get(window, "repoconf") as ShellBridge | undefined;
