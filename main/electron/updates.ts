import { app } from "electron";
import type { Logger } from "pino";

/** Milliseconds between two checks for updates. */
const interval = 24 * 60 * 60_000;

/** Downloads signed updates of an installed app and installs them at the next quit. Disabled during development. */
export async function updateItself(logger: Logger): Promise<void> {
  if (!app.isPackaged) return;
  const { default: updater } = await import("electron-updater");
  const { autoUpdater } = updater;
  autoUpdater.autoInstallOnAppQuit = true;
  autoUpdater.on("error", error => logger.warn({ error: String(error) }, "the update failed"));
  autoUpdater.on("update-downloaded", ({ version }) =>
    logger.info({ version }, "an update was downloaded; it is installed at the next quit"),
  );
  const check = () => void autoUpdater.checkForUpdates().catch(() => {});
  check();
  setInterval(check, interval).unref();
}
