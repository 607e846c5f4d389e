import { join } from "node:path";
import { app } from "electron";
import { pino } from "pino";
import { makeHomeFolder } from "../daemon/home.ts";
import { deepLinkIn } from "../desktop/deep-link.ts";
import { homeAt, homeFolder } from "../home.ts";
import { RotatingLog } from "../rotating-log.ts";
import { AppWindow } from "./app-window.ts";
import { denyPermissions } from "./lockdown.ts";
import { createMenu } from "./menu.ts";
import { serveNativeCalls } from "./native-calls.ts";
import { notifyOfBrokenFiles } from "./notifications.ts";
import { openDaemon } from "./open-daemon.ts";
import { quitSafely } from "./quit.ts";
import { createTray } from "./tray.ts";
import { updateItself } from "./updates.ts";

export interface BootOptions {
  readonly version: string;
  /** Where the built app is: its preload and its screen. */
  readonly folder: string;
}

const logFileBytes = 5_000_000;

/** The desktop app, from its start to the open window, in this order. Throws what keeps it from running. */
export async function boot({ version, folder }: BootOptions): Promise<void> {
  // A second start hands over its link and leaves.
  const link = deepLinkIn(process.argv);
  if (!app.requestSingleInstanceLock({ link })) return app.quit();
  app.setAsDefaultProtocolClient("repoconf");
  await app.whenReady();
  denyPermissions();

  const home = homeAt(homeFolder(undefined));
  await makeHomeFolder(home);
  const log = new RotatingLog(join(home.folder, "desktop.log"), logFileBytes);
  const logger = pino({ level: "info", base: null, timestamp: pino.stdTimeFunctions.isoTime }, log);
  const daemon = await openDaemon({ home, version, logger, screenFolder: join(folder, "../screen") });
  if (daemon === undefined) return app.quit();

  const window = new AppWindow({ home, url: daemon.url, preload: join(folder, "preload.cjs") });
  serveNativeCalls({
    createSession: daemon.createSession,
    firstLink: () => window.takeFirstLink(),
    owns: frame => window.owns(frame),
  });
  createMenu(window);
  const tray = createTray(window, daemon, join(folder, "../screen/tray.png"));
  notifyOfBrokenFiles(daemon.client, window);
  void updateItself(logger);
  quitSafely({ daemon, window, tray, logger });

  app.on("second-instance", (_event, argv) => window.show(deepLinkIn(argv)));
  app.on("open-url", (event, url) => {
    event.preventDefault();
    window.show(deepLinkIn([url]));
  });
  app.on("activate", () => window.show());
  // The daemon goes on when the window closes.
  app.on("window-all-closed", () => {});
  // Started at login it waits in the tray.
  if (!process.argv.includes("--hidden")) await window.open(link);
}
