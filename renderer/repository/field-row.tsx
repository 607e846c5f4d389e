import { ChevronDown, ChevronRight } from "lucide-react";
import { memo, useId, useState } from "react";
import { configValue } from "../../shared/config.ts";
import { isJsonObject } from "../../shared/json.ts";
import { masksAnything } from "../../shared/scopes/masks.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import { MeanwhileNote } from "../edits/meanwhile-note.tsx";
import { resolvedIn, SchemaRoot } from "../fields/resolved-schema.ts";
import { isLarge, ValueEditor } from "../fields/value-editor.tsx";
import { ErrorBoundary, FailedPart } from "../parts/error-boundary.tsx";
import { countedValue } from "../parts/short-value.ts";
import { schemaOfEdit } from "../state/edit-masks.ts";
import { dropEdit, edit, editRenamed, wantedValue } from "../state/edits.ts";
import { overriddenBy } from "../state/open-layers.ts";
import { findRepository, orDefault, useScreen } from "../state/store.ts";
import { textOfUnread, unreadPlaces } from "../state/unread-text.ts";
import { WaitingValue } from "../waiting/waiting-value.tsx";
import { FieldDetails } from "./field-details.tsx";
import { OverrideBadge, OverrideTools, StepBadge } from "./field-override.tsx";
import { useFieldState } from "./field-state.ts";

export interface FieldRowProps {
  readonly repo: string;
  readonly scope: string;
  readonly field: string;
  readonly schema: FieldSchema;
  /** Whether the address names this field. */
  readonly current: boolean;
  /** Without an inspector beside the fields, each field shows its details below it. */
  readonly holdsDetails: boolean;
  /** Called when the focus enters the row: the same function each time, because a row is only rendered again for what concerns it. */
  readonly onFocus: (scope: string, field: string) => void;
}

/** One field as a row: its title and path, a control with its value, and below it what needs attention or more space. */
export const FieldRow = memo(function FieldRow(props: FieldRowProps) {
  const { repo, scope, field, schema: own, current, holdsDetails, onFocus } = props;
  const { path, key, value, pending, modified, problems, health, flashing } = useFieldState(repo, scope, field, own);
  const schema = schemaOfEdit(own, pending);
  const overridden = useScreen(state => overriddenBy(state.opened.get(repo)?.layers, scope, field));
  const isLinked = useScreen(state => (findRepository(state, repo)?.linked?.slot ?? 0) > 0);
  /** A linked worktree has no value of its own, and a higher one than the main work tree. */
  const inherits =
    isLinked &&
    schema["x-step"] !== undefined &&
    overridden !== "local" &&
    pending === undefined &&
    health === undefined;
  const keys = useKeys(repo, scope, schema["x-keyOf"]);
  const [revealed, setRevealed] = useState(false);
  const [opened, setOpened] = useState<boolean>();
  const [detailed, setDetailed] = useState(false);
  const id = useId();
  const title = schema.title ?? field;
  const root = useScreen(state => state.scopes.find(one => one.scope === scope)?.schema);
  const { description, deprecated } = resolvedIn(root, schema);
  const large = isLarge(schema, value, keys !== undefined, root);
  // A value with problems is expanded by default, and stays so when they are gone.
  if (large && opened === undefined && problems.length > 0) setOpened(true);
  const open = large && opened === true;
  const editor = (
    <ErrorBoundary
      fallback={(message, again) => <FailedPart what={`The editor for ${path}`} message={message} again={again} />}
    >
      <SchemaRoot value={root}>
        <ValueEditor
          value={value}
          schema={schema}
          label={title}
          describedBy={description === undefined ? undefined : `${id}-description`}
          problems={problems}
          keys={keys}
          revealed={revealed}
          onChange={(value, renamed) => {
            if (renamed === undefined) edit(repo, scope, field, value);
            else editRenamed({ repo, scope, field, value }, renamed);
          }}
        />
      </SchemaRoot>
    </ErrorBoundary>
  );
  return (
    <section
      className="field"
      id={`field-${path}`}
      aria-labelledby={`${id}-title`}
      aria-current={current}
      data-modified={modified}
      data-edited={pending !== undefined}
      data-flashing={flashing}
      onFocus={() => onFocus(scope, field)}
    >
      <div className="field-head">
        <h3 id={`${id}-title`}>{title}</h3>
        {deprecated === true && <span className="badge">deprecated</span>}
        {pending !== undefined && <span className="badge badge-edited">edited</span>}
        {overridden !== undefined && <OverrideBadge repo={repo} by={overridden} />}
        {inherits && <StepBadge repo={repo} schema={schema} value={value} />}
        {modified && pending === undefined && <span className="visually-hidden">modified</span>}
        <code className="field-path">{path}</code>
      </div>
      {description !== undefined && (
        <p className="visually-hidden" id={`${id}-description`}>
          {description}
        </p>
      )}
      <div className="field-control">
        {large ? (
          <button
            type="button"
            className="field-summary"
            aria-expanded={open}
            aria-controls={`${id}-editor`}
            onClick={() => setOpened(!open)}
          >
            {open ? <ChevronDown aria-hidden="true" /> : <ChevronRight aria-hidden="true" />}
            <span className="visually-hidden">{title}: </span>
            <span className="field-summary-text">{countedValue(value, schema)}</span>
          </button>
        ) : (
          editor
        )}
      </div>
      <div className="field-tools">
        {masksAnything(schema) && (!large || open) && (
          <button type="button" className="link" aria-pressed={revealed} onClick={() => setRevealed(!revealed)}>
            {revealed ? "Hide values" : "Show values"}
          </button>
        )}
        {pending !== undefined && (
          <button
            type="button"
            className="link"
            aria-label={`Discard the edit: ${title}`}
            onClick={() => dropEdit(key)}
          >
            Discard
          </button>
        )}
        {modified && overridden === undefined && !inherits && (
          <button
            type="button"
            className="link"
            aria-label={`Reset to default: ${title}`}
            onClick={() => edit(repo, scope, field, undefined)}
          >
            Reset
          </button>
        )}
        {holdsDetails && (
          <button
            type="button"
            className="link"
            aria-label={`Details: ${title}`}
            aria-expanded={detailed}
            aria-controls={`${id}-details`}
            onClick={() => setDetailed(!detailed)}
          >
            Details
          </button>
        )}
      </div>
      {overridden === "local" && pending === undefined && (
        <OverrideTools repo={repo} scope={scope} field={field} schema={schema} />
      )}
      {open && (
        <div className="field-editor" id={`${id}-editor`}>
          {editor}
        </div>
      )}
      {pending !== undefined && <MeanwhileNote edit={pending} schema={schema} />}
      {pending?.refusal !== undefined && (problems.length === 0 || unreadPlaces(pending.value).length > 0) && (
        <p className="problem" role="alert">
          {pending.refusal}
        </p>
      )}
      {health?.code === 1114 && <WaitingValue repo={repo} field={path} />}
      {health !== undefined && health.code !== 1114 && <p className="problem">{health.message}</p>}
      {holdsDetails && detailed && (
        <div className="field-details" id={`${id}-details`}>
          <FieldDetails repo={repo} scope={scope} field={field} schema={schema} />
        </div>
      )}
    </section>
  );
});

/** The keys that a reference to another field may use, unsaved edits included. */
function useKeys(repo: string, scope: string, target: string | undefined): readonly string[] | undefined {
  const value = useScreen(state => {
    if (target === undefined) return undefined;
    const effective = configValue(state.opened.get(repo)?.effective ?? {}, scope, target);
    return orDefault(wantedValue(state, repo, scope, target).stored, effective);
  });
  if (target === undefined) return undefined;
  return isJsonObject(value) && textOfUnread(value) === undefined ? Object.keys(value) : [];
}
