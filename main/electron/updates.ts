import { app } from "electron";
import type { Logger } from "pino";

/** Milliseconds between two looks for a newer version. */
const interval = 24 * 60 * 60_000;

/** Fetches newer versions of an installed app, signed as it is, and puts them in place at the next quit. Off while developing. */
export async function updateItself(logger: Logger): Promise<void> {
  if (!app.isPackaged) return;
  const { default: updater } = await import("electron-updater");
  const { autoUpdater } = updater;
  autoUpdater.autoInstallOnAppQuit = true;
  autoUpdater.on("error", error => logger.warn({ error: String(error) }, "no update could be had"));
  autoUpdater.on("update-downloaded", ({ version }) => logger.info({ version }, "an update waits for the next quit"));
  const check = () => void autoUpdater.checkForUpdates().catch(() => {});
  check();
  setInterval(check, interval).unref();
}
