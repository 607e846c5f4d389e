import { protocol, type Session, session } from "electron";
import { desktopOrigin, desktopScheme } from "../../shared/shell-bridge.ts";
import { Screen } from "../daemon/screen.ts";

/** The window's page: the app's own files, never the daemon's port, on which somebody else may sit. */
export const screenUrl = `${desktopOrigin}/`;

/** Wherever the daemon is: its port may be another one next time. What answers there has to prove itself. */
const daemonSource = "ws://127.0.0.1:*";

/** Before the app is ready: the page's scheme counts as secure, as https does, and has an origin. */
export function registerScreenScheme(): void {
  protocol.registerSchemesAsPrivileged([
    { scheme: desktopScheme, privileges: { standard: true, secure: true, supportFetchAPI: true } },
  ]);
}

/** Serves the built screen in a partition that is in memory alone: nothing that a page left there outlives the app. */
export async function openScreenPartition(folder: string): Promise<Session> {
  const partition = session.fromPartition("screen", { cache: false });
  const screen = await Screen.open(folder);
  partition.protocol.handle(desktopScheme, ({ url, method }) => {
    const found = url.startsWith(screenUrl) ? screen?.find(new URL(url).pathname, daemonSource) : undefined;
    if (found === undefined || method !== "GET") return new Response("Not found.", { status: 404 });
    return new Response(new Uint8Array(found.body), { headers: { ...found.headers } });
  });
  return partition;
}
