import { useEffect, useMemo, useState } from "react";
import type { Config } from "../../shared/config.ts";
import { ActionDialog } from "../dialogs/action-dialog.tsx";
import { changesBetween } from "../diff/diff-lines.ts";
import { DiffTable } from "../diff/diff-table.tsx";
import { daemon, openRepository } from "../state/connection.ts";
import { messageOf, notify } from "../state/notices.ts";
import { useScreen } from "../state/store.ts";
import { newBatch, rememberSaved } from "../state/undo.ts";

interface RestoreDialogProps {
  readonly repo: string;
  readonly title: string;
  /** The revision to restore. */
  readonly to: number;
  /** Only these fields; undefined: all that differ. */
  readonly fields?: readonly string[] | undefined;
  onClose(): void;
}

/** Shows what a restore would change, lets the person exclude single fields, and restores the rest. */
export function RestoreDialog({ repo, title, to, fields, onClose }: RestoreDialogProps) {
  const scopes = useScreen(state => state.scopes);
  const opened = useScreen(state => state.opened.get(repo));
  const [past, setPast] = useState<Config>();
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    openRepository(repo)
      .then(() => daemon().run("config/list", { repo, revision: to, stored: true }))
      .then(setPast, error => setProblem(messageOf(error)));
  }, [repo, to]);
  const stored = opened?.stored;
  const changes = useMemo(() => {
    if (past === undefined) return undefined;
    return changesBetween(stored ?? {}, past, scopes).filter(({ path }) => fields?.includes(path) !== false);
  }, [past, stored, scopes, fields]);
  const wanted = (changes ?? []).map(({ path }) => path).filter(path => !left.has(path));
  const restore = async (reason: string) => {
    const revision = opened?.revision ?? 0;
    const how = { revision, atomic: true, batch: newBatch(), ...(reason !== "" && { reason }) };
    const [changed] = await daemon().run("history/restore", { repo, to, fields: wanted, ...how });
    await openRepository(repo, true);
    if (changed !== undefined) {
      const { revision: saved, batch = "" } = changed;
      rememberSaved({ saved: [{ repo, revision: saved, fields: wanted, batch }] });
    }
    notify("done", `Restored the values of revision ${to}.`);
  };
  return (
    <ActionDialog
      title={title}
      action={[`Restore ${wanted.length === 1 ? "1 field" : `${wanted.length} fields`}`, "Restoring…"]}
      unavailable={wanted.length === 0}
      asksReason
      problem={problem}
      onSubmit={restore}
      onClose={onClose}
    >
      {changes?.length === 0 && <p>These values are already stored.</p>}
      {changes !== undefined && changes.length > 0 && (
        <DiffTable
          changes={changes}
          actions={({ path }) => [
            {
              key: "leave-out",
              text: left.has(path) ? "Include" : "Exclude",
              run: () =>
                setLeft(before => {
                  const next = new Set(before);
                  if (!next.delete(path)) next.add(path);
                  return next;
                }),
            },
          ]}
        />
      )}
    </ActionDialog>
  );
}
