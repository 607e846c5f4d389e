import { app, Menu, nativeImage, Tray } from "electron";
import type { AppWindow } from "./app-window.ts";
import { setStartAtLogin, startsAtLogin } from "./autostart.ts";

/** The tray icon opens the window again: the daemon keeps running when the window is closed. */
export function createTray(window: AppWindow, icon: string): Tray {
  const tray = new Tray(nativeImage.createFromPath(icon));
  tray.setToolTip("Repoconf");
  const refresh = async () => {
    const checked = await startsAtLogin();
    tray.setContextMenu(
      Menu.buildFromTemplate([
        { label: "Open Repoconf", click: () => window.show() },
        { type: "separator" },
        {
          label: "Start at login",
          type: "checkbox",
          checked,
          click: item => {
            void setStartAtLogin(item.checked).then(refresh, refresh);
          },
        },
        { type: "separator" },
        { label: "Quit", click: () => app.quit() },
      ]),
    );
  };
  tray.on("click", () => window.show());
  void refresh();
  return tray;
}
