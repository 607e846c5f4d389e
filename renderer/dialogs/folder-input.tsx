import { useEffect, useId, useRef, useState } from "react";
import type { FolderLook } from "../../shared/protocol.ts";
import { daemon } from "../state/connection.ts";
import { nameOfRepository, useScreen } from "../state/store.ts";

/** Milliseconds after the last key press until the daemon is asked. */
const lookDelay = 120;

interface FolderInputProps {
  readonly folder: string;
  /** The repository that the folder is for, if there is one already. */
  readonly own?: string;
  readonly hint?: string;
  onFolder(folder: string): void;
  /** What the daemon says of the folder; undefined: nothing yet. */
  onLook?(look: FolderLook | undefined): void;
}

/** The absolute path of what a person typed. Throws RepoconfError if the daemon refuses it. */
export async function folderAt(typed: string): Promise<string> {
  const path = typed.trim();
  return path.startsWith("~") ? (await daemon().run("repo/look", { path })).path : path;
}

/** The path of a folder: the daemon completes it, and says if it is a repository or has values that were committed. */
export function FolderInput({ folder, own, hint, onFolder, onLook }: FolderInputProps) {
  const id = useId();
  const [look, setLook] = useState<FolderLook>();
  const tell = useRef(onLook);
  tell.current = onLook;
  useEffect(() => {
    const typed = folder.trim();
    let isWanted = true;
    const take = (found: FolderLook | undefined) => {
      if (!isWanted) return;
      setLook(found);
      tell.current?.(found);
    };
    tell.current?.(undefined);
    if (typed === "") return take(undefined);
    const timer = setTimeout(() => {
      // A path that cannot be read is refused when it is used, with the reason.
      daemon()
        .run("repo/look", { path: typed })
        .then(take, () => take(undefined));
    }, lookDelay);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [folder]);
  const known = look?.repo !== undefined && look.repo !== own ? look.repo : undefined;
  const name = useScreen(state => known && nameOfRepository(state, known));
  const [above] = /^.*[/\\]/.exec(folder.trimStart()) ?? [];
  return (
    <>
      <label className="labelled">
        Folder <span className="hint">{hint ?? "its path on this machine"}</span>
        <input
          className="input input-path"
          list={`${id}-folders`}
          aria-describedby={`${id}-note`}
          placeholder="~/src/shop"
          autoComplete="off"
          spellCheck={false}
          // biome-ignore lint/a11y/noAutofocus: the dialog has been opened for this.
          autoFocus
          value={folder}
          onChange={event => onFolder(event.target.value)}
        />
      </label>
      <datalist id={`${id}-folders`}>
        {above !== undefined && look?.folders.map(one => <option key={one} value={above + one} />)}
      </datalist>
      <p className="hint folder-note" id={`${id}-note`} role="status">
        {known !== undefined && `Already added as ${name}. `}
        {known === undefined && look?.hasFile && "It has a .repoconf.json: the values in it are used."}
      </p>
    </>
  );
}
