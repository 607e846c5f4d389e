import { join } from "node:path";
import { app } from "electron";
import { pino } from "pino";
import { deepLinkIn } from "../desktop/deep-link.ts";
import { RotatingLog } from "../files/rotating-log.ts";
import { homeAt, homeFolder } from "../home/home.ts";
import { makeHomeFolder } from "../home/prepare-home.ts";
import { AppWindow } from "./app-window.ts";
import { wasStartedAtLogin } from "./autostart.ts";
import { denyPermissions } from "./lockdown.ts";
import { createMenu } from "./menu.ts";
import { serveNativeCalls } from "./native-calls.ts";
import { notifyOfBrokenFiles } from "./notifications.ts";
import { openDaemon } from "./open-daemon.ts";
import { OpenRequests } from "./open-requests.ts";
import { openScreenPartition, registerScreenScheme } from "./own-screen.ts";
import { quitSafely } from "./quit.ts";
import { createTray } from "./tray.ts";
import { updateItself } from "./updates.ts";

export interface BootOptions {
  readonly version: string;
  /** The folder of the built app, with its preload script; the screen is next to it. */
  readonly folder: string;
}

const logFileBytes = 5_000_000;

/** Starts the desktop app, in this order, until its window is open. Throws if it cannot run. */
export async function boot({ version, folder }: BootOptions): Promise<void> {
  // A second instance passes its arguments, including a link, to the first one and quits.
  if (!app.requestSingleInstanceLock()) return app.quit();
  const requests = new OpenRequests();
  // Windows needs the app id of the installer (electron-builder.yml) to show notifications and to name the login entry.
  if (process.platform === "win32") app.setAppUserModelId("dev.repoconf.app");
  registerScreenScheme();
  await app.whenReady();
  const screenFolder = join(folder, "../screen");
  const partition = await openScreenPartition(screenFolder);
  denyPermissions(partition);

  const home = homeAt(homeFolder(undefined));
  await makeHomeFolder(home);
  const log = new RotatingLog(join(home.folder, "desktop.log"), logFileBytes);
  const logger = pino({ level: "info", base: null, timestamp: pino.stdTimeFunctions.isoTime }, log);
  let stopAsked = false;
  const onStop = () => {
    stopAsked = true;
    app.quit();
  };
  const takeStopRequest = () => {
    const asked = stopAsked;
    stopAsked = false;
    return asked;
  };
  const daemon = await openDaemon({ home, version, logger, screenFolder, onStop });
  if (daemon === undefined) return app.quit();

  const window = new AppWindow({ home, partition, preload: join(folder, "preload.cjs") });
  serveNativeCalls({
    session: daemon.session,
    firstLink: () => window.takeFirstLink(),
    readyToLeave: () => window.readyToLeave(),
    owns: frame => window.owns(frame),
  });
  createMenu(window);
  const tray = createTray(window, join(screenFolder, "tray.png"));
  notifyOfBrokenFiles(daemon.client, window);
  void updateItself(logger);
  quitSafely({ daemon, window, tray, logger, takeStopRequest });

  app.on("activate", () => window.show());
  // The daemon keeps running when the window closes.
  app.on("window-all-closed", () => {});
  const asked = requests.serve(window);
  // After a start at login the app stays in the tray, unless the window was requested since.
  if (asked !== undefined || !wasStartedAtLogin()) await window.open(asked?.link ?? deepLinkIn(process.argv));
}
