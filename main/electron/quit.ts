import { app, dialog, type Tray } from "electron";
import type { Logger } from "pino";
import type { AppDaemon } from "../desktop/app-daemon.ts";
import type { AppWindow } from "./app-window.ts";

interface QuitOptions {
  readonly daemon: AppDaemon;
  readonly window: AppWindow;
  readonly tray: Tray;
  readonly logger: Logger;
  /** Whether it is a tool with the owner's key that asks for the end (`repoconf stop`): about tools nobody is asked then. Once. */
  takeStopRequest(): boolean;
}

/** Milliseconds that writes under way may take before the app leaves all the same. */
const closeCeiling = 10_000;

/** Quitting asks about connected tools and about edits that are not saved, waits for what is being written, and then leaves. */
export function quitSafely({ daemon, window, tray, logger, takeStopRequest }: QuitOptions): void {
  let leaving = false;
  const leave = async () => {
    if (!(takeStopRequest() || (await agreesToDisconnect(daemon))) || !(await window.leave())) return;
    tray.destroy();
    const ceiling = new Promise<"late">(resolve => setTimeout(() => resolve("late"), closeCeiling).unref());
    const ended = await Promise.race([daemon.close().catch((error: unknown) => error), ceiling]);
    if (ended === "late") logger.warn("quitting although writes are not finished after ten seconds");
    // It closes windows without a question: by now there is none.
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
