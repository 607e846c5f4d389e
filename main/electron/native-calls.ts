import { dialog, ipcMain, type WebFrameMain } from "electron";

interface NativeCallsOptions {
  createSession(): Promise<string>;
  /** Whether a frame is the window's own page. */
  owns(frame: WebFrameMain | null): boolean;
}

/** What the screen may ask the shell for (preload.ts), each call checked for who sends it. */
export function serveNativeCalls({ createSession, owns }: NativeCallsOptions): void {
  const serve = (name: string, run: () => Promise<unknown>) => {
    ipcMain.handle(name, event => {
      if (!owns(event.senderFrame)) throw new Error("This page may not call that.");
      return run();
    });
  };
  serve("session", createSession);
  serve("choose-folder", async () => {
    const { filePaths } = await dialog.showOpenDialog({ properties: ["openDirectory"] });
    return filePaths[0];
  });
}
