import { lstatSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { RepoconfError } from "../../shared/errors.ts";
import { describeCause } from "../files/describe-cause.ts";
import type { Endpoint } from "../home/endpoint-file.ts";
import type { Home } from "../home/home.ts";

/**
 * The folder of the daemon's Unix socket, without links in its path, if no other user can put a socket there. Throws an Error that says why
 * not, and RepoconfError 1200 where there are no such sockets.
 */
export function ownSocketFolder(home: Home): string {
  const user = process.getuid?.();
  if (user === undefined) throw new RepoconfError(1200, "This system has no Unix sockets.");
  // The home itself may be reached through links; from here on, there are none.
  const folder = join(realpathSync(home.folder), basename(home.socket));
  const stats = lstatSync(folder);
  if (!stats.isDirectory() || stats.uid !== user || (stats.mode & 0o777) !== 0o700)
    throw new Error(`${folder}: it must be a folder of yours that only you can enter, and no link`);
  for (let path = dirname(folder); ; path = dirname(path)) {
    if (mayBeReplaced(lstatSync(path), user)) throw new Error(`${path}: other users can replace what is in it`);
    if (dirname(path) === path) return folder;
  }
}

/**
 * The path of the daemon's Unix socket, if no other user can have put it there, or put another one there after this check: a key may be sent
 * into it. REPOCONF_HOME may name a folder of a stranger, so nothing but a name is taken from its `daemon.json`. Throws RepoconfError 1200.
 */
export function ownSocket(home: Home, { socket }: Endpoint): string {
  if (socket === undefined) throw new RepoconfError(1200, "The daemon has no Unix socket.");
  try {
    const path = join(ownSocketFolder(home), basename(socket));
    const found = lstatSync(path);
    if (!found.isSocket() || found.uid !== process.getuid?.()) throw new Error(`${path}: it is not a socket of yours`);
    return path;
  } catch (error) {
    if (error instanceof RepoconfError) throw error;
    const at = error instanceof Error && "path" in error ? `${error.path}: ` : "";
    const message = `No key is sent to the daemon of ${home.folder} over its Unix socket, because of ${at}${describeCause(error)}. Check REPOCONF_HOME; if that is your home, run: repoconf restart`;
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
