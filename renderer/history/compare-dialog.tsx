import { useEffect, useState } from "react";
import type { Config } from "../../shared/config.ts";
import { diffConfigs } from "../../shared/config-diff.ts";
import { Modal } from "../dialogs/modal.tsx";
import { unknownSchema } from "../page/show-json.ts";
import { daemon } from "../state/connection.ts";
import { messageOf } from "../state/saving.ts";
import { findField, type ScopeEntry, useScreen } from "../state/store.ts";
import { type DiffRow, DiffTable } from "./diff-table.tsx";

interface CompareDialogProps {
  readonly repo: string;
  readonly from: number;
  readonly to: number;
  onClose(): void;
}

/** Two revisions of a repository beside each other. */
export function CompareDialog({ repo, from, to, onClose }: CompareDialogProps) {
  const scopes = useScreen(state => state.scopes);
  const [rows, setRows] = useState<readonly DiffRow[]>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    Promise.all([storedAt(repo, from), storedAt(repo, to)]).then(
      ([before, after]) => setRows(diffRows(before, after, scopes)),
      error => setProblem(messageOf(error)),
    );
  }, [repo, from, to, scopes]);
  return (
    <Modal title={`Revision ${from} and revision ${to}`} onClose={onClose}>
      {problem !== undefined && <p className="problem">{problem}</p>}
      {rows?.length === 0 && <p>They hold the same values.</p>}
      {rows !== undefined && rows.length > 0 && <DiffTable rows={rows} />}
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

/** What differs between two stored configurations, for a table. */
export function diffRows(before: Config, after: Config, scopes: readonly ScopeEntry[]): DiffRow[] {
  return diffConfigs(before, after).map(difference => ({
    path: `${difference.scope}.${difference.field}`,
    schema: findField(scopes, difference.scope, difference.field) ?? unknownSchema,
    before: difference.before,
    after: difference.after,
  }));
}
