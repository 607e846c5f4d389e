import { app } from "electron";
import { hasAutostartEntry, setAutostartEntry } from "../desktop/autostart-entry.ts";

const hidden = "--hidden";
/** Windows finds its entry by the very arguments that it was made with. */
const loginItem = { args: [hidden] };

export async function startsAtLogin(): Promise<boolean> {
  return process.platform === "linux" ? hasAutostartEntry() : app.getLoginItemSettings(loginItem).openAtLogin;
}

/** Off until asked. Throws the system's error. */
export async function setStartAtLogin(on: boolean): Promise<void> {
  if (process.platform === "linux") await setAutostartEntry(on);
  else app.setLoginItemSettings({ openAtLogin: on, ...loginItem });
}

/** Whether the system started the app, and not a person: macOS passes no arguments, but says so. */
export function wasStartedAtLogin(): boolean {
  if (process.platform === "darwin") return app.getLoginItemSettings().wasOpenedAtLogin;
  return process.argv.includes(hidden);
}
