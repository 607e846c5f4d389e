import { app, dialog, type Tray } from "electron";
import type { Logger } from "pino";
import type { AppDaemon } from "../desktop/app-daemon.ts";
import type { AppWindow } from "./app-window.ts";

interface QuitOptions {
  readonly daemon: AppDaemon;
  readonly window: AppWindow;
  readonly tray: Tray;
  readonly logger: Logger;
}

/** Milliseconds that writes under way may take before the app leaves all the same. */
const closeCeiling = 10_000;
/** Connections of our own: the screen's and the shell's. */
const ownSockets = 2;

/** Quitting says so if tools are connected, waits for what is being written, and then leaves. */
export function quitSafely({ daemon, window, tray, logger }: QuitOptions): void {
  let state: "running" | "asking" | "closing" = "running";
  app.on("before-quit", event => {
    event.preventDefault();
    if (state !== "running") return;
    state = "asking";
    void confirmed(daemon).then(async yes => {
      if (!yes) {
        state = "running";
        return;
      }
      state = "closing";
      window.allowClosing();
      tray.destroy();
      const ceiling = new Promise<"late">(resolve => setTimeout(() => resolve("late"), closeCeiling).unref());
      const ended = await Promise.race([daemon.close().catch((error: unknown) => error), ceiling]);
      if (ended === "late") logger.warn("quitting although writes are not finished after ten seconds");
      app.exit(0);
    });
  });
}

async function confirmed({ client }: AppDaemon): Promise<boolean> {
  const status = await client.run("daemon/status", {}).catch(() => undefined);
  const tools = (status?.sockets ?? 0) - ownSockets;
  if (tools <= 0) return true;
  const { response } = await dialog.showMessageBox({
    type: "question",
    message: tools === 1 ? "A tool is connected." : `${tools} tools are connected.`,
    detail: "When Repoconf quits they lose their connection until it runs again.",
    buttons: ["Quit", "Keep running"],
    defaultId: 1,
    cancelId: 1,
  });
  return response === 0;
}
