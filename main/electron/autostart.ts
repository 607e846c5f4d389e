import { app } from "electron";
import { hasAutostartEntry, setAutostartEntry } from "../desktop/autostart-entry.ts";

const hidden = "--hidden";
/** Windows finds the entry only by the arguments with which it was created. */
const loginItem = { args: [hidden] };

export async function startsAtLogin(): Promise<boolean> {
  return process.platform === "linux" ? hasAutostartEntry() : app.getLoginItemSettings(loginItem).openAtLogin;
}

/** Off by default. Throws system errors. */
export async function setStartAtLogin(on: boolean): Promise<void> {
  if (process.platform === "linux") await setAutostartEntry(on);
  else app.setLoginItemSettings({ openAtLogin: on, ...loginItem });
}

/** Whether the system started the app at login. macOS passes no arguments but reports it. */
export function wasStartedAtLogin(): boolean {
  if (process.platform === "darwin") return app.getLoginItemSettings().wasOpenedAtLogin;
  return process.argv.includes(hidden);
}
