import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { entriesOfBatch } from "../../shared/client/undo-batch.ts";
import { OlderButton } from "../history/older-button.tsx";
import { RestoreDialog } from "../history/restore-dialog.tsx";
import { daemon } from "../state/connection.ts";
import { focusPlace, go } from "../state/navigation.ts";
import { nameOfRepository, type ScreenState, useScreen } from "../state/store.ts";
import { fieldsChanged } from "../state/undo.ts";
import { ActivityEntry } from "./activity-entry.tsx";
import { countRepositories, type Group, grouped } from "./activity-list.ts";
import { QueryBox } from "./query-box.tsx";
import { RevertChangesDialog } from "./revert-changes-dialog.tsx";
import { useActivity } from "./use-activity.ts";

const pageSize = 50;

const chips: readonly (readonly [condition: string, title: string])[] = [
  ["since:24h", "last 24 hours"],
  ["by:owner", "by you"],
  ["by:file", "by hand"],
];

/** Live list of the changes in all repositories, newest first. */
export function ActivityPage({ query }: { readonly query: string }) {
  const { entries, fresh, next, errors, older, showFresh } = useActivity(query, pageSize);
  const repositories = useScreen(state => state.repositories);
  const [reverting, setReverting] = useState<Group>();
  const article = useRef<HTMLElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const groups = useMemo(() => grouped({ entries, next }), [entries, next]);
  const [refusal] = errors.filter(({ repo }) => repo === undefined);
  const change = useCallback((wanted: string) => focusPlace({ page: "activity", query: wanted }), []);
  useLayoutEffect(() => {
    if (fresh.length > 0 && entries !== undefined && !isBeingRead(list.current)) showFresh();
  }, [fresh, entries, showFresh]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another query begins at its top.
  useEffect(() => void article.current?.closest("main")?.scrollTo(0, 0), [query]);
  return (
    <article className="page activity" aria-labelledby="page-title" ref={article}>
      <header className="page-head">
        <h1 id="page-title">Activity</h1>
        <p role="status">
          {fresh.length > 0 && (
            <button
              type="button"
              className="button button-main"
              onClick={() => {
                showFresh();
                article.current?.closest("main")?.scrollTo(0, 0);
              }}
            >
              Show {fresh.length === 1 ? "1 new change" : `${fresh.length} new changes`}
            </button>
          )}
        </p>
        <search className="activity-filter">
          <QueryBox label="Filter changes" query={query} error={refusal} onQuery={change} />
          <span className="activity-chips">
            {chips.map(([condition, title]) => (
              <button
                key={condition}
                type="button"
                className="chip"
                aria-pressed={conditionsOf(query).includes(condition)}
                onClick={() => go({ page: "activity", query: toggled(query, condition) })}
              >
                {title}
              </button>
            ))}
          </span>
        </search>
      </header>
      {errors.map(
        ({ repo, message }) =>
          repo !== undefined && (
            <p key={`${repo} ${message}`} className="problem" role="alert">
              {nameOfRepository({ repositories }, repo)}: {message}
            </p>
          ),
      )}
      {entries === undefined && <p className="waiting">Reading…</p>}
      {entries?.length === 0 && refusal === undefined && (
        <p className="waiting">{next === undefined ? nothing(query) : "No match among the newest changes."}</p>
      )}
      {groups.length > 0 && (
        <ol className="timeline" ref={list} aria-label="Changes">
          {groups.map(group => (
            <ActivityEntry key={group.key} group={group} onRevert={() => setReverting(group)} />
          ))}
        </ol>
      )}
      {next !== undefined && <OlderButton load={older} />}
      {reverting !== undefined && (
        <RevertDialog group={reverting} repositories={repositories} onClose={() => setReverting(undefined)} />
      )}
    </article>
  );
}

interface RevertDialogProps {
  readonly group: Group;
  readonly repositories: ScreenState["repositories"];
  onClose(): void;
}

/** Reverts a whole batch, or the shown fields of any other entry. */
function RevertDialog({ group, repositories, onClose }: RevertDialogProps) {
  const { first, rest, isOpen } = group;
  const { repo, revision, batch } = first;
  const oldest = rest.at(-1)?.time ?? first.time;
  const find = useCallback(() => entriesOfBatch(daemon(), batch ?? "", oldest), [batch, oldest]);
  if ((isOpen || rest.length > 0) && batch !== undefined) {
    const title = "Revert this change in all its repositories";
    return (
      <RevertChangesDialog
        title={title}
        name={`a change in ${countRepositories(group)}`}
        find={find}
        onClose={onClose}
      />
    );
  }
  return (
    <RestoreDialog
      repo={repo}
      title={`Revert revision ${revision} of ${nameOfRepository({ repositories }, repo)}`}
      to={revision - 1}
      fields={fieldsChanged(first)}
      onClose={onClose}
    />
  );
}

/** Whether somebody is reading the list or about to click in it; then it must not move. */
function isBeingRead(list: HTMLOListElement | null): boolean {
  return list?.matches(":hover, :focus-within") === true || (list?.closest("main")?.scrollTop ?? 0) > 0;
}

function nothing(query: string): string {
  return query.trim() === "" ? "Nothing has changed yet." : "No changes found.";
}

function conditionsOf(query: string): readonly string[] {
  return query.split(/\s+/).filter(word => word !== "");
}

/** Toggles the condition; there is only one for the actor, because all conditions must match. */
function toggled(query: string, condition: string): string {
  const others = chips.map(([other]) => other).filter(other => sameKind(other, condition));
  const rest = conditionsOf(query).filter(word => !others.includes(word));
  return (conditionsOf(query).includes(condition) ? rest : [...rest, condition]).join(" ");
}

function sameKind(one: string, other: string): boolean {
  return one.split(":")[0] === other.split(":")[0];
}
