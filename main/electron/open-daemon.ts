import { dialog } from "electron";
import { findDaemon } from "../client/locate.ts";
import { type AppDaemon, type AppDaemonOptions, attach, ownDaemon, stopDaemon } from "../desktop/app-daemon.ts";
import { isOlder } from "../version.ts";

/** Starts the daemon in this process, or attaches to the one that runs on the home. Undefined if the user chooses to quit. */
export async function openDaemon(options: AppDaemonOptions): Promise<AppDaemon | undefined> {
  const { home, version } = options;
  const running = await findDaemon(home);
  if (running === undefined) return ownDaemon(options);
  if (!isOlder(running.version, version)) return attach(home, running.url);
  const { response } = await dialog.showMessageBox({
    type: "question",
    message: `An older Repoconf (${running.version}) is running on this home.`,
    detail: `Restart it as ${version}? Connected tools reconnect automatically.`,
    buttons: ["Restart", "Use the older version", "Quit"],
    defaultId: 0,
    cancelId: 2,
  });
  if (response === 1) return attach(home, running.url);
  if (response !== 0) return undefined;
  await stopDaemon(home);
  return ownDaemon(options);
}
