import { lstatSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { RepoconfError } from "../../shared/errors.ts";
import { describeCause } from "../files/describe-cause.ts";
import type { Endpoint } from "../home/endpoint-file.ts";
import type { Home } from "../home/home.ts";

/**
 * The path of the daemon's Unix socket, if no other user can have put it there, or put another one there after this check: a key may be sent
 * into it. REPOCONF_HOME may name a folder of a stranger, so nothing but a name is taken from its `daemon.json`. Throws RepoconfError 1200.
 */
export function ownSocket(home: Home, { socket }: Endpoint): string {
  const user = process.getuid?.();
  if (socket === undefined || user === undefined) throw new RepoconfError(1200, "The daemon has no Unix socket.");
  let path = home.socket;
  try {
    // The home itself may be reached through links; from here on, there are none.
    const folder = join(realpathSync(home.folder), basename(home.socket));
    path = folder;
    const stats = lstatSync(folder);
    if (!stats.isDirectory() || stats.uid !== user || (stats.mode & 0o777) !== 0o700)
      throw new Error("it must be a folder of yours that only you can enter, and no link");
    for (path = dirname(folder); ; path = dirname(path)) {
      if (mayBeReplaced(lstatSync(path), user)) throw new Error("other users can replace what is in it");
      if (dirname(path) === path) break;
    }
    path = join(folder, basename(socket));
    const found = lstatSync(path);
    if (!found.isSocket() || found.uid !== user) throw new Error("it is not a socket of yours");
    return path;
  } catch (error) {
    const message = `No key is sent to the daemon of ${home.folder} over its Unix socket, because of ${path}: ${describeCause(error)}. Check REPOCONF_HOME; if that is your home, run: repoconf restart`;
    throw new RepoconfError(1200, message);
  }
}

/** Whether others than this user and the system can rename what is in a folder. In one with the sticky bit, only the owners can. */
function mayBeReplaced({ uid, mode }: Stats, user: number): boolean {
  if (uid !== user && uid !== 0) return true;
  const isSticky = (mode & 0o1000) !== 0;
  // A folder of one's own may be writable for one's own group, as some systems make all of them.
  return !isSticky && (mode & (uid === user ? 0o002 : 0o022)) !== 0;
}
