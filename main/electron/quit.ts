import { app, dialog, type Tray } from "electron";
import type { Logger } from "pino";
import type { AppDaemon } from "../desktop/app-daemon.ts";
import type { AppWindow } from "./app-window.ts";

interface QuitOptions {
  readonly daemon: AppDaemon;
  readonly window: AppWindow;
  readonly tray: Tray;
  readonly logger: Logger;
  /** Whether a tool with the owner's key asked the app to stop (`repoconf stop`); then there is no question about tools. Resets it. */
  takeStopRequest(): boolean;
}

/** Milliseconds after which the app quits although writes are still in progress. */
const closeTimeout = 10_000;

/** Makes quitting ask about connected tools and unsaved edits, and wait for writes in progress. */
export function quitSafely({ daemon, window, tray, logger, takeStopRequest }: QuitOptions): void {
  let leaving = false;
  const leave = async () => {
    if (!(takeStopRequest() || (await agreesToDisconnect(daemon))) || !(await window.leave())) return;
    tray.destroy();
    const timeout = new Promise<"late">(resolve => setTimeout(() => resolve("late"), closeTimeout).unref());
    const ended = await Promise.race([daemon.close().catch((error: unknown) => error), timeout]);
    if (ended === "late") logger.warn("quitting although writes did not finish within ten seconds");
    // This would close windows without asking; all are closed by now.
    app.exit(0);
  };
  app.on("before-quit", event => {
    event.preventDefault();
    if (leaving) return;
    leaving = true;
    void leave().finally(() => {
      leaving = false;
    });
  });
}

async function agreesToDisconnect(daemon: AppDaemon): Promise<boolean> {
  const tools = await daemon.connectedTools();
  if (tools <= 0) return true;
  const { response } = await dialog.showMessageBox({
    type: "question",
    message: tools === 1 ? "A tool is connected." : `${tools} tools are connected.`,
    detail: "If Repoconf quits, they lose their connection until it runs again.",
    buttons: ["Quit", "Keep running"],
    defaultId: 1,
    cancelId: 1,
  });
  return response === 0;
}
