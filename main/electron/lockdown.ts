import { type Session, session, type WebContents } from "electron";
import { screenUrl } from "./own-screen.ts";

/** The preferences of every window, from Electron's security checklist; docs/desktop.md has each point and its test. */
export const securePreferences = {
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
 * Denies every permission without a prompt, because the screen needs no camera, location or notifications. The exception is access to
 * the loopback for the screen's own partition: the daemon listens there, and Chromium treats a page with a custom scheme as a remote one.
 */
export function denyPermissions(partition: Session): void {
  for (const one of [session.defaultSession, partition]) {
    const isGranted = (permission: string) => one === partition && loopbackPermissions.includes(permission);
    one.setPermissionRequestHandler((_contents, permission, answer) => answer(isGranted(permission)));
    one.setPermissionCheckHandler((_contents, permission) => isGranted(permission));
    one.setDevicePermissionHandler(() => false);
  }
}

/** The current name of the permission, and the earlier one. */
const loopbackPermissions = ["loopback-network", "local-network-access"];

/** Whether this is the URL of the screen's page. Compares text, because Node's URL has no origin for custom schemes. */
export function isScreen(url: string): boolean {
  return url.startsWith(screenUrl);
}

/** Prevents navigation to other pages, frames, webviews and new windows. */
export function denyNavigation(contents: WebContents): void {
  const preventLeaving = (event: { preventDefault(): void; readonly url: string }) => {
    if (!isScreen(event.url)) event.preventDefault();
  };
  contents.on("will-navigate", preventLeaving);
  contents.on("will-redirect", preventLeaving);
  contents.on("will-frame-navigate", event => {
    if (!event.isMainFrame) event.preventDefault();
  });
  contents.on("will-attach-webview", event => event.preventDefault());
  contents.setWindowOpenHandler(() => ({ action: "deny" }));
}
