import { useState } from "react";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { HistoryEntry } from "../../shared/protocol.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import { limitsText } from "../fields/limits.ts";
import { resolvedIn } from "../fields/resolved-schema.ts";
import { describeActor } from "../history/entry-facts.tsx";
import { RestoreDialog } from "../history/restore-dialog.tsx";
import { ago } from "../parts/ago.ts";
import { ErrorBoundary, FailedPart } from "../parts/error-boundary.tsx";
import { FoldedText } from "../parts/folded-text.tsx";
import { showJson } from "../parts/show-json.ts";
import { daemon } from "../state/connection.ts";
import { schemaOfEdit } from "../state/edit-masks.ts";
import { addressOf } from "../state/place.ts";
import { editKey, useScreen } from "../state/store.ts";
import { useAnswer } from "../state/use-answer.ts";
import { OtherRepositories } from "./other-repositories.tsx";

/** The maximum of shown changes; the history has the rest. */
const shownChanges = 5;

interface FieldDetailsProps {
  readonly repo: string;
  readonly scope: string;
  readonly field: string;
  readonly schema: FieldSchema;
}

/** Everything about a field: its purpose, its limits, the source of its value, and who changed it. */
export function FieldDetails(props: FieldDetailsProps) {
  const what = `Details of ${joinConfigPath(props.scope, props.field)}`;
  return (
    <ErrorBoundary fallback={(message, again) => <FailedPart what={what} message={message} again={again} />}>
      <Details {...props} />
    </ErrorBoundary>
  );
}

function Details({ repo, scope, field, schema: own }: FieldDetailsProps) {
  const path = joinConfigPath(scope, field);
  const edit = useScreen(state => state.pending.get(editKey(repo, scope, field)));
  const schema = schemaOfEdit(own, edit);
  const revision = useScreen(state => state.opened.get(repo)?.revision);
  const here = useScreen(state => state.machine);
  const [reverting, setReverting] = useState<number>();
  // A new revision may be a change of it, or of its place in the file.
  const when = [repo, path, revision];
  const explanation = useAnswer(() => daemon().run("config/explain", { repo, field: path }), when);
  const listed = useAnswer(() => daemon().run("history/list", { repo, field: path, limit: shownChanges }), when);
  const changes = listed?.filter(({ source }) => source !== "forget");
  const root = useScreen(state => state.scopes.find(one => one.scope === scope)?.schema);
  const known = resolvedIn(root, schema);
  const limits = limitsText(known, root);
  return (
    <>
      {known.description !== undefined && <p>{known.description}</p>}
      <dl className="facts">
        {limits !== undefined && <Fact name="Limits">{limits}</Fact>}
        <Fact name="Default">
          <FoldedText text={showJson(schema.default, schema)} name="the default" />
        </Fact>
        {explanation?.step !== undefined && (
          <Fact name="In this worktree">{explanation.step} higher than what it inherits</Fact>
        )}
        {explanation?.line !== undefined && (
          <Fact name="Location">
            <code>
              {explanation.file}:{explanation.line}
            </code>
          </Fact>
        )}
      </dl>
      <h3>Last changes</h3>
      {changes?.length === 0 && <p className="hint">It has never been changed.</p>}
      <ul className="changes">
        {changes?.map(entry => {
          const change = entry.changes[scope]?.[field];
          return (
            <li key={entry.revision}>
              <FoldedText text={changedTo(change, schema)} name={`revision ${entry.revision}`} />
              <span className="hint">{describeChange(entry, here)}</span>
              {entry.revision > 1 && (
                <button type="button" className="link" onClick={() => setReverting(entry.revision)}>
                  Revert<span className="visually-hidden"> revision {entry.revision}</span>
                </button>
              )}
            </li>
          );
        })}
      </ul>
      <p>
        <a className="link" href={addressOf({ page: "repo", view: "history", repo, scope, field })}>
          All changes<span className="visually-hidden"> of {path}</span>
        </a>
      </p>
      <OtherRepositories repo={repo} scope={scope} field={field} schema={schema} />
      {reverting !== undefined && (
        <RestoreDialog
          repo={repo}
          title={`Revert revision ${reverting}`}
          to={reverting - 1}
          fields={[path]}
          onClose={() => setReverting(undefined)}
        />
      )}
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function changedTo(change: HistoryEntry["changes"][string][string] | undefined, schema: FieldSchema): string {
  if (change === undefined || change.forgotten) return "(forgotten)";
  return change.stored ? showJson(change.value, schema) : "default";
}

function describeChange(entry: HistoryEntry, here: string | undefined): string {
  const { time, source, reason } = entry;
  return `${ago(time)} ${describeActor(entry, here)}${source === "restore" ? ", restored" : ""}${reason === undefined ? "" : `: ${reason}`}`;
}
