import { dialog, ipcMain, type WebFrameMain } from "electron";
import type { ScreenLink, ShellSession } from "../../shared/shell-bridge.ts";

interface NativeCallsOptions {
  session(): Promise<ShellSession>;
  firstLink(): ScreenLink | undefined;
  /** The screen has sent what it was asked to send before the app quits. */
  readyToLeave(): void;
  /** Whether a frame is the window's own page. */
  owns(frame: WebFrameMain | null): boolean;
}

/** What the screen may ask the shell for (preload.ts), each call checked for who sends it. */
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
