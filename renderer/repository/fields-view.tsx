import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { configEntries } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import { editAll } from "../state/edits.ts";
import { focusPlace } from "../state/navigation.ts";
import { loadLayers } from "../state/open-layers.ts";
import type { Selection } from "../state/place.ts";
import { findField, useScreen } from "../state/store.ts";
import { ContentQueue } from "./content-queue.ts";
import { FieldDetails } from "./field-details.tsx";
import { useShownFields } from "./field-filter.ts";
import { FieldGroup } from "./field-group.tsx";
import { FieldsTools } from "./fields-tools.tsx";
import { useSteadyField } from "./steady-field.ts";

/** Of more fields than this, only those near what is in sight have their controls. */
const mostWhole = 100;

/** Whether the inspector fits beside the fields. */
const wide = matchMedia("(width >= 75rem)");

/** The fields of a repository as rows, and beside them the details of the focused field. */
export function FieldsView({ selection }: { readonly selection: Selection }) {
  const { repo, scope: wantedScope, field: wantedField } = selection;
  const scopes = useScreen(state => state.scopes);
  const stored = useScreen(state => state.opened.get(repo)?.stored);
  const revision = useScreen(state => state.opened.get(repo)?.revision);
  const isWide = useSyncExternalStore(onWideChange, () => wide.matches);
  const { scopes: shown, found, all, hold } = useShownFields(selection);
  const container = useRef<HTMLDivElement>(null);
  const [queue] = useState(() => new ContentQueue());
  const areMany = found > mostWhole;
  useEffect(() => {
    queue.areMany = areMany;
  }, [queue, areMany]);
  useSteadyField(container);
  // biome-ignore lint/correctness/useExhaustiveDependencies: any revision may have changed a local value.
  useEffect(() => {
    void loadLayers(repo);
  }, [repo, revision]);
  // Only when another field is chosen: rows must not jump while one edits.
  useEffect(() => {
    if (wantedScope === undefined) return;
    const id = wantedField === undefined ? `scope-${wantedScope}` : `field-${joinConfigPath(wantedScope, wantedField)}`;
    const wanted = container.current?.querySelector(`#${CSS.escape(id)}`);
    // The focused element is already visible.
    if (wanted?.contains(document.activeElement)) return;
    wanted?.scrollIntoView({ block: wantedField === undefined ? "start" : "nearest" });
  }, [wantedScope, wantedField]);
  const modified = [...configEntries(stored ?? {})];
  const resetAll = (scope?: string) => {
    const wanted = modified.filter(one => scope === undefined || scope === one.scope);
    editAll(wanted.map(one => ({ repo, scope: one.scope, field: one.field, value: undefined })));
  };
  const onFocus = useCallback(
    (scope: string, field: string) => {
      hold(joinConfigPath(scope, field));
      focusPlace({ page: "repo", view: "fields", repo, scope, field });
    },
    [hold, repo],
  );
  const inspected = wantedScope && wantedField ? findField(scopes, wantedScope, wantedField) : undefined;
  return (
    <div className="fields" data-inspected={isWide} data-many={areMany}>
      <div ref={container}>
        <FieldsTools found={found} all={all} modified={modified.length} onResetAll={() => resetAll()} />
        {shown.map(({ scope, schema, groups }, index) => {
          const isModified = modified.some(one => one.scope === scope);
          return (
            <section className="scope" key={scope} id={`scope-${scope}`} aria-labelledby={`scope-title-${scope}`}>
              <header className="scope-head">
                <h2 id={`scope-title-${scope}`}>{schema.title ?? scope}</h2>
                {schema.description !== undefined && <p>{schema.description}</p>}
                {isModified && scopes.length > 1 && (
                  <button type="button" className="link" onClick={() => resetAll(scope)}>
                    Reset this scope
                  </button>
                )}
              </header>
              {groups.map(({ at, fields }, place) => {
                const isCurrent = wantedScope === scope && fields.some(([field]) => field === wantedField);
                return (
                  <FieldGroup
                    key={at}
                    {...{ repo, scope, fields, queue, onFocus }}
                    isFirst={index === 0 && place === 0}
                    current={isCurrent ? wantedField : undefined}
                    holdsDetails={!isWide}
                  />
                );
              })}
            </section>
          );
        })}
        {found === 0 && <p className="waiting">No field matches.</p>}
      </div>
      {isWide && (
        <aside className="inspector" aria-label="About the field" data-region tabIndex={-1}>
          {wantedScope && wantedField && inspected ? (
            <>
              <header>
                <h2>{inspected.title ?? wantedField}</h2>
                <code className="field-path">{joinConfigPath(wantedScope, wantedField)}</code>
              </header>
              <FieldDetails
                key={`${repo} ${wantedScope} ${wantedField}`}
                repo={repo}
                scope={wantedScope}
                field={wantedField}
                schema={inspected}
              />
            </>
          ) : (
            <p className="hint">Select a field to see what it is for and who changed it.</p>
          )}
        </aside>
      )}
    </div>
  );
}

function onWideChange(listener: () => void): () => void {
  wide.addEventListener("change", listener);
  return () => wide.removeEventListener("change", listener);
}
