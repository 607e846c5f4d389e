import { session, type WebContents } from "electron";

/** What every window's page is made with (Electron's security checklist; docs/desktop.md has each point and its test). */
export const closedPreferences = {
  contextIsolation: true,
  sandbox: true,
  nodeIntegration: false,
  nodeIntegrationInSubFrames: false,
  nodeIntegrationInWorker: false,
  webSecurity: true,
  allowRunningInsecureContent: false,
  experimentalFeatures: false,
  webviewTag: false,
  navigateOnDragDrop: false,
  safeDialogs: true,
  spellcheck: false,
} as const;

/** The screen needs no camera, no place, no notification of its own: nothing is asked and nothing is given. */
export function denyPermissions(): void {
  session.defaultSession.setPermissionRequestHandler((_contents, _permission, answer) => answer(false));
  session.defaultSession.setPermissionCheckHandler(() => false);
  session.defaultSession.setDevicePermissionHandler(() => false);
}

/** Keeps a page on the daemon's own address: no other page, no frame, no window. */
export function denyNavigation(contents: WebContents, url: string): void {
  const { origin } = new URL(url);
  const stay = (event: { preventDefault(): void; readonly url: string }) => {
    if (URL.parse(event.url)?.origin !== origin) event.preventDefault();
  };
  contents.on("will-navigate", stay);
  contents.on("will-redirect", stay);
  contents.on("will-frame-navigate", event => {
    if (!event.isMainFrame) event.preventDefault();
  });
  contents.on("will-attach-webview", event => event.preventDefault());
  contents.setWindowOpenHandler(() => ({ action: "deny" }));
}
