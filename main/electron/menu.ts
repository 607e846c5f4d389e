import { Menu, type MenuItemConstructorOptions, shell } from "electron";
import type { AppWindow } from "./app-window.ts";

const documentation = "https://github.com/repoconf/repoconf#readme";

/** The menu bar. Commands that change something are sent to the screen, which shows the change first. */
export function createMenu(window: AppWindow): void {
  const template: MenuItemConstructorOptions[] = [
    ...(process.platform === "darwin" ? [{ role: "appMenu" } as const] : []),
    {
      label: "File",
      submenu: [
        { label: "Add a repository…", accelerator: "CmdOrCtrl+N", click: () => window.send("add") },
        { label: "Save edits", accelerator: "CmdOrCtrl+S", click: () => window.send("save") },
        { type: "separator" },
        { role: "close" },
        ...(process.platform === "darwin" ? [] : [{ role: "quit" } as const]),
      ],
    },
    { role: "editMenu" },
    {
      label: "View",
      submenu: [
        { role: "reload" },
        { type: "separator" },
        { role: "resetZoom" },
        { role: "zoomIn" },
        { role: "zoomOut" },
        { role: "togglefullscreen" },
      ],
    },
    { role: "windowMenu" },
    {
      role: "help",
      submenu: [
        { label: "Documentation", click: () => void shell.openExternal(documentation) },
        { label: "The repoconf command: npm install --global repoconf", enabled: false },
      ],
    },
  ];
  Menu.setApplicationMenu(Menu.buildFromTemplate(template));
}
