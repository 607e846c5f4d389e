import { useCallback, useEffect, useState } from "react";
import { splitConfigPath } from "../../shared/config-path.ts";
import { type ChangeEntries, changesIn, nameRevisions } from "../../shared/history-changes.ts";
import type { HistoryEntry } from "../../shared/protocol.ts";
import { Choose } from "../parts/choose.tsx";
import { daemon } from "../state/connection.ts";
import { go } from "../state/navigation.ts";
import { messageOf, notify } from "../state/notices.ts";
import { useScreen } from "../state/store.ts";
import { fieldsChanged } from "../state/undo.ts";
import { EntryChanges } from "./entry-changes.tsx";
import { canBeReverted, EntryFacts } from "./entry-facts.tsx";
import { OlderButton } from "./older-button.tsx";
import { RestoreDialog } from "./restore-dialog.tsx";

const pageSize = 50;

interface HistoryViewProps {
  readonly repo: string;
  /** `<scope>.<field>`, to show only its changes; undefined: the changes of all fields. */
  readonly field: string | undefined;
}

/** What changed, when and by whom; comparison of any two revisions; restore with a preview. */
export function HistoryView({ repo, field }: HistoryViewProps) {
  const scopes = useScreen(state => state.scopes);
  const revision = useScreen(state => state.opened.get(repo)?.revision ?? 0);
  const [entries, setEntries] = useState<readonly HistoryEntry[]>();
  const [next, setNext] = useState<string>();
  const [damage, setDamage] = useState<string>();
  /** The first of two revisions to compare. */
  const [chosen, setChosen] = useState<number>();
  const [restoring, setRestoring] = useState<Restoring>();
  const load = useCallback(
    async (after?: string) => {
      const args = {
        repo,
        limit: pageSize,
        ...(field !== undefined && { field }),
        ...(after !== undefined && { after }),
      };
      try {
        const reply = await daemon().request("history/list", args);
        setEntries(before => [...(after === undefined ? [] : (before ?? [])), ...(reply.result ?? [])]);
        setNext(reply.next);
        setDamage(reply.errors[0]?.message);
      } catch (error) {
        notify("problem", messageOf(error));
      }
    },
    [repo, field],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new revision is a new entry.
  useEffect(() => void load(), [load, revision]);
  // What a start changed after records were lost is not known, so the values before it are not either.
  const oldestKnown = entries?.find(({ source }) => source === "recovery")?.revision ?? 0;
  const choose = (one: number) => {
    if (chosen === undefined) return setChosen(one);
    setChosen(undefined);
    if (chosen === one) return;
    const [left, right] = [chosen, one]
      .toSorted((first, second) => first - second)
      .map(at => ({ kind: "revision", repo, revision: at }) as const);
    go({ page: "compare", left, right });
  };
  const known = scopes.flatMap(({ scope, schema }) => Object.keys(schema.properties).map(name => `${scope}.${name}`));
  // A field of an address may have no schema any more.
  const paths = field === undefined || known.includes(field) ? known : [...known, field];
  return (
    <section aria-label="History">
      <div className="history-tools">
        <Choose
          label="Field"
          shown="beside"
          options={[{ id: "", text: "all fields" }, ...paths.map(path => ({ id: path, text: path }))]}
          chosen={field ?? ""}
          onChoose={path => go({ page: "repo", view: "history", repo, ...splitConfigPath(path) })}
        />
        <p className="hint" role="status">
          {chosen !== undefined && "Choose a second revision to compare."}
        </p>
      </div>
      {damage !== undefined && (
        <p className="problem" role="alert">
          {damage}
        </p>
      )}
      {entries?.length === 0 && <p className="waiting">Nothing has changed yet.</p>}
      <ol className="timeline">
        {changesIn(entries ?? []).map(change => {
          const [entry] = change;
          const name = nameRevisions(change);
          return (
            <li className="timeline-entry" key={`${entry.revision} ${entry.source}`}>
              <header>
                <h2>{name.replace(/^r/, "R")}</h2>
                <EntryFacts entry={entry} />
                <span className="timeline-tools">
                  <button
                    type="button"
                    className="button button-quiet"
                    aria-pressed={chosen === entry.revision}
                    onClick={() => choose(entry.revision)}
                  >
                    Compare<span className="visually-hidden"> {name}</span>
                  </button>
                  {canBeReverted(entry) && (
                    <button
                      type="button"
                      className="button button-quiet"
                      onClick={() => setRestoring(revertOf(change))}
                    >
                      Revert…<span className="visually-hidden"> {name}</span>
                    </button>
                  )}
                  {entry.revision !== revision && entry.revision >= oldestKnown && (
                    <button
                      type="button"
                      className="button button-quiet"
                      onClick={() => setRestoring(restoreOf(entry.revision, field))}
                    >
                      Restore…<span className="visually-hidden"> {name}</span>
                    </button>
                  )}
                </span>
              </header>
              {entry.reason !== undefined && <p className="timeline-reason">{entry.reason}</p>}
              {change.toReversed().map(one => (
                <LayerChanges key={one.revision} entry={one} />
              ))}
            </li>
          );
        })}
      </ol>
      {next !== undefined && <OlderButton load={() => load(next)} />}
      {restoring !== undefined && <RestoreDialog repo={repo} {...restoring} onClose={() => setRestoring(undefined)} />}
    </section>
  );
}

interface Restoring {
  readonly title: string;
  readonly to: number;
  readonly fields?: readonly string[];
}

/** Restores all values of a revision, or only one field. */
function restoreOf(revision: number, field: string | undefined): Restoring {
  return { title: `Restore revision ${revision}`, to: revision, ...(field !== undefined && { fields: [field] }) };
}

/** Undoes one change: restores the values before it. Before a field's first change, that is its default. */
function revertOf(change: ChangeEntries<HistoryEntry>): Restoring {
  const oldest = change.at(-1) ?? change[0];
  const fields = new Set(change.flatMap(fieldsChanged));
  return { title: `Revert ${nameRevisions(change)}`, to: oldest.revision - 1, fields: [...fields] };
}

/** What a change made of one layer. */
function LayerChanges({ entry }: { readonly entry: HistoryEntry }) {
  const { layer } = entry;
  const isLocal = layer === "local" || layer === "base";
  return (
    <>
      {isLocal && (
        <span className="badge badge-local">{layer === "local" ? "local" : "local, of the main work tree"}</span>
      )}
      <EntryChanges entry={entry} />
    </>
  );
}
