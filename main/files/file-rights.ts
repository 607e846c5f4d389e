import { fstatSync } from "node:fs";
import { type FileHandle, lstat, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** What a new version of a file gets. */
export interface FileRights {
  /** To open it with; the umask may remove permissions. */
  readonly mode: number;
  /** Those of the file that it replaces, or of the folder whose files belong to its group (setgid). */
  readonly kept?: { readonly uid?: number; readonly gid: number; readonly mode?: number };
}

/** The owner, group and mode of the file at a path, which a new version gets, as editors keep them; `mode` for a new file. */
export async function rightsAt(path: string, mode: number): Promise<FileRights> {
  // A private file stays private, whatever somebody planted in its place.
  if (process.platform === "win32" || (mode & 0o077) === 0) return { mode };
  const replaced = await lstat(path).catch(() => undefined);
  if (replaced?.isFile()) {
    const { uid, gid } = replaced;
    const same = replaced.mode & 0o777;
    return { mode: same & 0o600, kept: { uid, gid, mode: same } };
  }
  const folder = await stat(dirname(path)).catch(() => undefined);
  return { mode, ...(folder !== undefined && (folder.mode & 0o2000) !== 0 && { kept: { gid: folder.gid } }) };
}

/** Gives an open file the rights, as far as the system allows. Throws the system's error if its mode cannot be set. */
export async function giveRights(handle: FileHandle, { kept }: FileRights): Promise<void> {
  if (kept === undefined) return;
  const { uid, gid } = fstatSync(handle.fd);
  const own = kept.uid ?? uid;
  const change = (owner: number) =>
    handle.chown(owner, kept.gid).then(
      () => true,
      () => false,
    );
  // Only root may give a file to another user, but its group may be one of this user's.
  const isOfGroup = (own === uid && kept.gid === gid) || (await change(own)) || (own !== uid && (await change(uid)));
  if (kept.mode === undefined) return;
  // What another group was allowed, this one is not.
  const mode = isOfGroup ? kept.mode : kept.mode & (0o707 | ((kept.mode & 0o007) << 3));
  if ((fstatSync(handle.fd).mode & 0o777) !== mode) await handle.chmod(mode);
}
