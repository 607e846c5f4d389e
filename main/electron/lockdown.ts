import { type Session, session, type WebContents } from "electron";
import { screenUrl } from "./own-screen.ts";

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

/**
 * The screen needs no camera, no place, no notification of its own: nothing is asked and nothing is given. Only its own page, in its
 * partition, reaches this machine's loopback, where the daemon is; Chromium counts a page of a scheme as one of elsewhere.
 */
export function denyPermissions(partition: Session): void {
  for (const one of [session.defaultSession, partition]) {
    const isGiven = (permission: string) => one === partition && loopbackPermissions.includes(permission);
    one.setPermissionRequestHandler((_contents, permission, answer) => answer(isGiven(permission)));
    one.setPermissionCheckHandler((_contents, permission) => isGiven(permission));
    one.setDevicePermissionHandler(() => false);
  }
}

/** The name that it has, and the one that it had. */
const loopbackPermissions = ["loopback-network", "local-network-access"];

/** Whether this is the address of the screen's page. Node gives the scheme no origin, so the text is compared. */
export function isScreen(url: string): boolean {
  return url.startsWith(screenUrl);
}

/** Keeps a page where it is: no other page, no frame, no window. */
export function denyNavigation(contents: WebContents): void {
  const stay = (event: { preventDefault(): void; readonly url: string }) => {
    if (!isScreen(event.url)) event.preventDefault();
  };
  contents.on("will-navigate", stay);
  contents.on("will-redirect", stay);
  contents.on("will-frame-navigate", event => {
    if (!event.isMainFrame) event.preventDefault();
  });
  contents.on("will-attach-webview", event => event.preventDefault());
  contents.setWindowOpenHandler(() => ({ action: "deny" }));
}
