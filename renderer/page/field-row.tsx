import { useId, useState } from "react";
import { configValue } from "../../shared/config.ts";
import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import { MeanwhileNote } from "../edits/meanwhile-note.tsx";
import { checkValue } from "../fields/validate.ts";
import { ValueEditor } from "../fields/value-editor.tsx";
import { dropEdit, edit, wantedValue } from "../state/edits.ts";
import { addressOf } from "../state/place.ts";
import { editKey, findRepository, type LastChange, useScreen } from "../state/store.ts";
import { ago } from "./ago.ts";
import { ErrorBoundary, FailedPart } from "./error-boundary.tsx";
import { showJson } from "./show-json.ts";
import { WaitingValue } from "./waiting-value.tsx";

interface FieldRowProps {
  readonly repo: string;
  readonly scope: string;
  readonly field: string;
  readonly schema: FieldSchema;
  /** Chosen in the tree. */
  readonly current: boolean;
}

/** One field: what it is, its value in a control, where the value comes from, and what is wrong with it. */
export function FieldRow({ repo, scope, field, schema, current }: FieldRowProps) {
  const key = editKey(repo, scope, field);
  const path = `${scope}.${field}`;
  const pending = useScreen(state => state.pending.get(key));
  const stored = useScreen(state => wantedValue(state, repo, scope, field).stored);
  const effective = useScreen(state => configValue(state.opened.get(repo)?.effective ?? {}, scope, field));
  const savedValue = useScreen(state => configValue(state.opened.get(repo)?.stored ?? {}, scope, field));
  const flashing = useScreen(state => state.flashes.has(key));
  const lastChange = useScreen(state => state.opened.get(repo)?.lastChanges.get(path));
  const health = useScreen(state => findRepository(state, repo)?.health.find(problem => problem.field === path));
  const keys = useKeys(repo, scope, schema["x-keyOf"]);
  const [revealed, setRevealed] = useState(false);
  const id = useId();
  const value: JsonValue = pending === undefined ? (effective ?? schema.default) : (pending.value ?? schema.default);
  const modified = stored !== undefined;
  const scopeSchema = useScreen(state => state.scopes.find(one => one.scope === scope)?.schema);
  const problems = pending === undefined ? [] : checkValue(value, schema, scopeSchema);
  const title = schema.title ?? field;
  return (
    <section
      className="field"
      id={`field-${path}`}
      aria-labelledby={`${id}-title`}
      aria-current={current}
      data-modified={modified}
      data-edited={pending !== undefined}
      data-flashing={flashing}
    >
      <div className="field-head">
        <h3 id={`${id}-title`}>{title}</h3>
        <code className="field-path">{path}</code>
        <span className="field-marks">
          {pending !== undefined && <span className="badge badge-edited">edited</span>}
          {modified && pending === undefined && <span className="badge">modified</span>}
        </span>
      </div>
      {schema.description !== undefined && (
        <p className="field-description" id={`${id}-description`}>
          {schema.description}
        </p>
      )}
      <div className="field-control">
        <ErrorBoundary
          fallback={(message, again) => <FailedPart what={`The control of ${path}`} message={message} again={again} />}
        >
          <ValueEditor
            value={value}
            schema={schema}
            label={title}
            describedBy={schema.description === undefined ? undefined : `${id}-description`}
            problems={problems}
            keys={keys}
            revealed={revealed}
            onChange={next => edit(repo, scope, field, next)}
          />
        </ErrorBoundary>
        {schema["x-masked"] === true && (
          <button
            type="button"
            className="button button-quiet"
            aria-pressed={revealed}
            onClick={() => setRevealed(!revealed)}
          >
            {revealed ? "Hide values" : "Show values"}
          </button>
        )}
      </div>
      {pending !== undefined && <MeanwhileNote edit={pending} schema={schema} />}
      {pending?.refusal !== undefined && (
        <p className="problem" role="alert">
          {pending.refusal}
        </p>
      )}
      {health !== undefined && <p className="problem">{health.message}</p>}
      {health?.code === 1114 && <WaitingValue repo={repo} field={path} />}
      <p className="field-foot">
        <span>
          Default: <code>{showJson(schema.default, schema)}</code>
        </span>
        {lastChange !== undefined && (
          <a className="link" href={addressOf({ page: "repo", view: "history", repo, scope, field })}>
            {describeChange(lastChange)}
          </a>
        )}
        {pending !== undefined && (
          <button type="button" className="link" onClick={() => dropEdit(key)}>
            Drop this edit
          </button>
        )}
        {(pending === undefined ? savedValue !== undefined : pending.value !== undefined) && (
          <button type="button" className="link" onClick={() => edit(repo, scope, field, undefined)}>
            Reset to default<span className="visually-hidden">: {title}</span>
          </button>
        )}
      </p>
    </section>
  );
}

function describeChange({ time, actor, source, reason }: LastChange): string {
  const by = actor === "file" ? "by hand" : `by ${actor}`;
  return `Changed ${ago(time)} ${by}${source === "restore" ? ", restored" : ""}${reason === undefined ? "" : `: ${reason}`}`;
}

/** The names that a reference to another field may have, edits included. */
function useKeys(repo: string, scope: string, target: string | undefined): readonly string[] | undefined {
  const value = useScreen(state => {
    if (target === undefined) return undefined;
    return (
      wantedValue(state, repo, scope, target).stored ??
      configValue(state.opened.get(repo)?.effective ?? {}, scope, target)
    );
  });
  if (target === undefined) return undefined;
  return isJsonObject(value) ? Object.keys(value) : [];
}
