import { type ReactNode, useEffect, useState } from "react";
import { type UndoneBatch, undoEntries } from "../../shared/client/undo-batch.ts";
import type { FoundHistoryEntry } from "../../shared/protocol.ts";
import { ActionDialog } from "../dialogs/action-dialog.tsx";
import { DiffTable } from "../diff/diff-table.tsx";
import { daemon } from "../state/connection.ts";
import { messageOf, notify } from "../state/notices.ts";
import { screenStore, useScreen } from "../state/store.ts";
import { fieldsChanged, rememberSaved } from "../state/undo.ts";
import { type BatchPreview, describeLeft, previewOf } from "./batch-preview.ts";
import { FirstOnes } from "./first-ones.tsx";
import { RepositoryLinks } from "./repository-links.tsx";

/** The maximum of different changes, lines per change, and reasons shown. */
const maxShown = 20;
/** The maximum of reasons in the notice behind the dialog. */
const maxReasons = 3;

interface RevertChangesDialogProps {
  readonly title: string;
  /** What the changes are, in the reason and as the new batch's name. */
  readonly name: string;
  /** Finds the changes, newest first. Another function stands for other changes. */
  find(): Promise<readonly FoundHistoryEntry[]>;
  onClose(): void;
  /** What is chosen before the preview. */
  readonly children?: ReactNode;
}

/** Shows what reverting several changes would do and what it would leave, and reverts them as one batch. */
export function RevertChangesDialog({ title, name, find, onClose, children }: RevertChangesDialogProps) {
  const scopes = useScreen(state => state.scopes);
  const repositories = useScreen(state => state.repositories);
  const [entries, setEntries] = useState<readonly FoundHistoryEntry[]>([]);
  const [preview, setPreview] = useState<BatchPreview>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    let isWanted = true;
    setPreview(undefined);
    const load = async () => {
      const found = await find();
      const next = await previewOf(daemon(), found, scopes);
      if (!isWanted) return;
      setEntries(found);
      setPreview(next);
    };
    load().catch(error => {
      if (isWanted) setProblem(messageOf(error));
    });
    return () => {
      isWanted = false;
    };
  }, [find, scopes]);
  const revert = async (reason: string) => {
    const how = { reason: reason || `undo of ${name}`, batch: `undo of ${name.slice(0, 60)} at ${Date.now()}` };
    notifyUndone(await undoEntries(daemon(), entries, how));
  };
  const count = (preview?.parts ?? []).flatMap(part => part.repositories).length;
  return (
    <ActionDialog
      title={title}
      action={[`Revert in ${count === 1 ? "1 repository" : `${count} repositories`}`, "Reverting…"]}
      unavailable={count === 0}
      asksReason
      problem={problem}
      onSubmit={revert}
      onClose={onClose}
    >
      {children}
      {preview === undefined && problem === undefined && <p className="hint">Checking what it would change…</p>}
      {preview !== undefined && count === 0 && <p>Nothing left to revert.</p>}
      <FirstOnes most={maxShown} what="different changes">
        {(preview?.parts ?? []).map(({ repositories: some, changes }) => (
          <section key={some[0]}>
            <h3>
              <RepositoryLinks repositories={some} />
            </h3>
            <DiffTable changes={changes} most={maxShown} />
          </section>
        ))}
      </FirstOnes>
      {preview !== undefined && preview.left.length > 0 && (
        <section aria-labelledby="batch-left">
          <h3 id="batch-left">Not changed</h3>
          <FirstOnes most={maxShown} what="fields that are not changed">
            {preview.left.map(one => (
              <p key={`${one.repo} ${one.field ?? ""}`}>{describeLeft(one, { repositories })}</p>
            ))}
          </FirstOnes>
        </section>
      )}
    </ActionDialog>
  );
}

/** Records what was reverted as one undo step, and reports what was left, with the first reasons. */
function notifyUndone({ restored, left }: UndoneBatch): void {
  // Newest first, because undo goes back through them in this order.
  const saved = restored.toReversed().map(({ repo, revision, config, batch }) => ({
    repo,
    revision,
    fields: fieldsChanged({ changes: config }),
    ...(batch !== undefined && { batch }),
  }));
  rememberSaved({ saved });
  const state = screenStore.getState();
  const count = new Set(restored.map(({ repo }) => repo)).size;
  const done = `Reverted in ${count === 1 ? "1 repository" : `${count} repositories`}.`;
  const reasons = left.slice(0, maxReasons).map(one => describeLeft(one, state));
  const more = left.length > reasons.length ? ` And ${left.length - reasons.length} more.` : "";
  const kept = left.length === 0 ? "" : ` Not changed: ${reasons.join(" ")}${more}`;
  notify(left.length === 0 ? "done" : "problem", `${done}${kept}`, "revert");
}
