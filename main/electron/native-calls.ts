import { dialog, ipcMain, type WebFrameMain } from "electron";
import type { ScreenLink, ShellSession } from "../../shared/shell-bridge.ts";

interface NativeCallsOptions {
  session(): Promise<ShellSession>;
  firstLink(): ScreenLink | undefined;
  /** Called when the screen has sent the edits that it must send before the app quits. */
  readyToLeave(): void;
  /** Whether a frame is the window's own page. */
  owns(frame: WebFrameMain | null): boolean;
}

/** Handles the native calls of the screen (preload.ts), and checks the sender of each one. */
export function serveNativeCalls({ session, firstLink, readyToLeave, owns }: NativeCallsOptions): void {
  const serve = (name: string, run: () => unknown) => {
    ipcMain.handle(name, event => {
      if (!owns(event.senderFrame)) throw new Error("This page is not allowed to call that.");
      return run();
    });
  };
  serve("session", session);
  serve("first-link", firstLink);
  serve("ready-to-leave", readyToLeave);
  serve("choose-folder", async () => {
    const { filePaths } = await dialog.showOpenDialog({ properties: ["openDirectory"] });
    return filePaths[0];
  });
}
