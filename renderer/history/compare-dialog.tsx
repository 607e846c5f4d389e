import { useEffect, useState } from "react";
import type { Config } from "../../shared/config.ts";
import { Modal } from "../dialogs/modal.tsx";
import { changesBetween, type FieldChange } from "../diff/diff-lines.ts";
import { DiffTable } from "../diff/diff-table.tsx";
import { daemon } from "../state/connection.ts";
import { messageOf } from "../state/notices.ts";
import { useScreen } from "../state/store.ts";

interface CompareDialogProps {
  readonly repo: string;
  readonly from: number;
  readonly to: number;
  onClose(): void;
}

/** Two revisions of a repository beside each other. */
export function CompareDialog({ repo, from, to, onClose }: CompareDialogProps) {
  const scopes = useScreen(state => state.scopes);
  const [changes, setChanges] = useState<readonly FieldChange[]>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    Promise.all([storedAt(repo, from), storedAt(repo, to)]).then(
      ([before, after]) => setChanges(changesBetween(before, after, scopes)),
      error => setProblem(messageOf(error)),
    );
  }, [repo, from, to, scopes]);
  return (
    <Modal title={`Revision ${from} and revision ${to}`} onClose={onClose}>
      {problem !== undefined && <p className="problem">{problem}</p>}
      {changes?.length === 0 && <p>They hold the same values.</p>}
      {changes !== undefined && changes.length > 0 && <DiffTable changes={changes} />}
      <p className="dialog-tools">
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </p>
    </Modal>
  );
}

/** What a repository stored at a revision. Throws RequestError. */
export function storedAt(repo: string, revision: number): Promise<Config> {
  return daemon().run("config/list", { repo, revision, stored: true });
}
