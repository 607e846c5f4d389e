import { protocol, type Session, session } from "electron";
import { desktopOrigin, desktopScheme } from "../../shared/shell-bridge.ts";
import { Screen } from "../daemon/http/screen.ts";

/** The window loads the app's own files, never the daemon's port, on which another program may be listening. */
export const screenUrl = `${desktopOrigin}/`;

/** Any port, because the daemon may get another one at its next start. The client authenticates whatever answers. */
const daemonSource = "ws://127.0.0.1:*";

/** Makes the screen's scheme secure, like https, and gives it an origin. Call it before the app is ready. */
export function registerScreenScheme(): void {
  protocol.registerSchemesAsPrivileged([
    { scheme: desktopScheme, privileges: { standard: true, secure: true, supportFetchAPI: true } },
  ]);
}

/** Serves the built screen in an in-memory partition, so that nothing a page stores outlives the app. */
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
