import { app } from "electron";
import { hasAutostartEntry, setAutostartEntry } from "../desktop/autostart-entry.ts";

export async function startsAtLogin(): Promise<boolean> {
  return process.platform === "linux" ? hasAutostartEntry() : app.getLoginItemSettings().openAtLogin;
}

/** Off until asked. Throws the system's error. */
export async function setStartAtLogin(on: boolean): Promise<void> {
  if (process.platform === "linux") await setAutostartEntry(on);
  else app.setLoginItemSettings({ openAtLogin: on, args: ["--hidden"] });
}
