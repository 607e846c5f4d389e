import { contextBridge, ipcRenderer } from "electron";
import type { ShellBridge } from "../../shared/shell-bridge.ts";

/** The complete interface between screen and shell. The screen cannot choose a channel. */
const bridge: ShellBridge = {
  session: () => ipcRenderer.invoke("session"),
  chooseFolder: () => ipcRenderer.invoke("choose-folder"),
  firstLink: () => ipcRenderer.invoke("first-link"),
  onNavigate: listener => void ipcRenderer.on("navigate", (_event, link) => listener(link)),
  onCommand: listener => void ipcRenderer.on("command", (_event, command) => listener(command)),
  onLeave: listener =>
    void ipcRenderer.on("leave", () => void listener().finally(() => ipcRenderer.invoke("ready-to-leave"))),
};

contextBridge.exposeInMainWorld("repoconf", bridge);
