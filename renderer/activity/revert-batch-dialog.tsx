import { type FormEvent, useEffect, useState } from "react";
import { entriesOfBatch, sinceOfBatch, type UndoneBatch } from "../../shared/client/undo-batch.ts";
import type { FoundHistoryEntry } from "../../shared/protocol.ts";
import { ChangeFoot } from "../dialogs/change-foot.tsx";
import { Modal } from "../dialogs/modal.tsx";
import { DiffTable } from "../diff/diff-table.tsx";
import { daemon } from "../state/connection.ts";
import { messageOf, notify } from "../state/notices.ts";
import { screenStore, useScreen } from "../state/store.ts";
import { fieldsChanged, rememberSaved, stepTime } from "../state/undo.ts";
import { type BatchPreview, describeLeft, previewOf } from "./batch-preview.ts";
import { FirstOnes } from "./first-ones.tsx";
import { RepositoryLinks } from "./repository-links.tsx";

/** The maximum of different changes, lines per change, and reasons shown. */
const maxShown = 20;
/** The maximum of reasons in the notice behind the dialog. */
const maxReasons = 3;

interface RevertBatchDialogProps {
  readonly batch: string;
  /** Entries of the batch, newest first. */
  readonly shown: readonly FoundHistoryEntry[];
  onClose(): void;
}

/** Shows what reverting a batch would change and what it would leave, and reverts it. */
export function RevertBatchDialog({ batch, shown, onClose }: RevertBatchDialogProps) {
  const scopes = useScreen(state => state.scopes);
  const repositories = useScreen(state => state.repositories);
  const oldest = shown.at(-1)?.time;
  const [preview, setPreview] = useState<BatchPreview>();
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    entriesOfBatch(daemon(), batch, oldest)
      .then(entries => previewOf(daemon(), entries, scopes))
      .then(setPreview, error => setProblem(messageOf(error)));
  }, [batch, oldest, scopes]);
  const revert = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const why = reason.trim();
      const begun = stepTime();
      const outcome = await daemon().undoBatch(batch, {
        ...(oldest !== undefined && { since: sinceOfBatch(oldest) }),
        ...(why !== "" && { reason: why }),
      });
      notifyUndone(outcome, begun);
      onClose();
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  const count = (preview?.parts ?? []).flatMap(part => part.repositories).length;
  return (
    <Modal title="Revert this change in all its repositories" onClose={onClose}>
      <form className="review" onSubmit={event => void revert(event)}>
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
        <ChangeFoot
          reason={reason}
          onReason={setReason}
          problem={problem}
          unavailable={count === 0}
          pending={busy && "Reverting…"}
          onClose={onClose}
        >
          Revert in {count === 1 ? "1 repository" : `${count} repositories`}
        </ChangeFoot>
      </form>
    </Modal>
  );
}

/** Records what was reverted since `begun` as one undo step, and reports what was left, with the first reasons. */
function notifyUndone({ restored, left }: UndoneBatch, begun: string): void {
  // Newest first, because undo goes back through them in this order.
  const saved = restored.toReversed().map(({ repo, revision, config, batch }) => ({
    repo,
    revision,
    fields: fieldsChanged({ changes: config }),
    ...(batch !== undefined && { batch }),
  }));
  rememberSaved({ since: begun, saved });
  const state = screenStore.getState();
  const count = new Set(restored.map(({ repo }) => repo)).size;
  const done = `Reverted in ${count === 1 ? "1 repository" : `${count} repositories`}.`;
  const reasons = left.slice(0, maxReasons).map(one => describeLeft(one, state));
  const more = left.length > reasons.length ? ` And ${left.length - reasons.length} more.` : "";
  const kept = left.length === 0 ? "" : ` Not changed: ${reasons.join(" ")}${more}`;
  notify(left.length === 0 ? "done" : "problem", `${done}${kept}`, "revert");
}
