import { useState } from "react";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import { daemon } from "../state/connection.ts";
import { copyText } from "../state/copy.ts";
import { go } from "../state/navigation.ts";
import { notify } from "../state/notices.ts";
import { screenStore, shownRepository, useScreen } from "../state/store.ts";
import { ActionDialog } from "./action-dialog.tsx";
import { FolderInput, folderAt } from "./folder-input.tsx";

interface RepositoryDialogProps {
  readonly what: "rename" | "move" | "remove";
  onClose(): void;
}

/** Changes the repository that the page showed when the dialog opened. */
export function RepositoryDialog({ what, onClose }: RepositoryDialogProps) {
  const [entry] = useState(() => shownRepository(screenStore.getState()));
  if (entry === undefined) return undefined;
  const Dialog = dialogs[what];
  return <Dialog entry={entry} onClose={onClose} />;
}

interface DialogProps {
  readonly entry: RepositoryEntry;
  onClose(): void;
}

function Rename({ entry, onClose }: DialogProps) {
  const [name, setName] = useState(entry.name);
  const wanted = name.trim();
  return (
    <ActionDialog
      title={`Rename ${entry.name}`}
      action={["Rename", "Renaming…"]}
      unavailable={wanted === "" || wanted === entry.name}
      onSubmit={async () => {
        await daemon().run("repo/update", { repo: entry.id, name: wanted });
      }}
      onClose={onClose}
    >
      <label className="labelled">
        Name <span className="hint">its id stays {entry.id}, so tools still find it</span>
        <input
          className="input"
          spellCheck={false}
          maxLength={200}
          // biome-ignore lint/a11y/noAutofocus: the dialog has been opened for this.
          autoFocus
          value={name}
          onFocus={event => event.target.select()}
          onChange={event => setName(event.target.value)}
        />
      </label>
    </ActionDialog>
  );
}

function Move({ entry, onClose }: DialogProps) {
  const [folder, setFolder] = useState(entry.path ?? "");
  return (
    <ActionDialog
      title={`The folder of ${entry.name}`}
      action={["Use this folder", "Checking…"]}
      unavailable={folder.trim() === "" || folder.trim() === entry.path}
      onSubmit={async () => {
        await daemon().run("repo/update", { repo: entry.id, path: await folderAt(folder) });
      }}
      onClose={onClose}
    >
      <p>
        Moves no files: it tells Repoconf where the folder is now.
        {entry.inTree && " The values of the .repoconf.json there apply then."}
      </p>
      <FolderInput folder={folder} own={entry.id} onFolder={setFolder} />
    </ActionDialog>
  );
}

function Remove({ entry, onClose }: DialogProps) {
  const worktrees = useScreen(state => state.repositories?.filter(({ base }) => base === entry.id).length ?? 0);
  const edits = useScreen(state => [...state.pending.values()].filter(({ repo }) => repo === entry.id).length);
  return (
    <ActionDialog
      title={`Remove ${entry.name}?`}
      action={["Remove", "Removing…"]}
      onSubmit={async () => {
        const { movedTo } = await daemon().run("repo/remove", { repo: entry.id });
        go({ page: "start" });
        notify(
          "done",
          movedTo === undefined ? `Removed ${entry.name}.` : `Removed ${entry.name}. Its file was moved to ${movedTo}`,
          undefined,
          // Stays until it is closed: it is the way back.
          movedTo === undefined
            ? undefined
            : {
                action: { text: "Copy its path", run: () => void copyText(movedTo, `Copied: ${movedTo}`, "The path") },
              },
        );
      }}
      onClose={onClose}
    >
      <p>Tools that ask for its values get none from then on. Its folder stays as it is.</p>
      <p>
        {entry.inTree
          ? "Its values stay in the .repoconf.json of its folder: add the folder again to have them back."
          : "The file with its values is moved to the folder “removed” of the home, and kept there."}
      </p>
      {worktrees > 0 && (
        <p>{worktrees === 1 ? "Its worktree is" : `Its ${worktrees} worktrees are`} removed from Repoconf too.</p>
      )}
      {edits > 0 && (
        <p className="problem">
          {edits === 1 ? "An edit of it that is not saved is" : `${edits} edits of it that are not saved are`} lost.
        </p>
      )}
    </ActionDialog>
  );
}

const dialogs = { rename: Rename, move: Move, remove: Remove };
