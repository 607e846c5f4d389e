import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { configEntries, configValue } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { JsonValue } from "../../shared/json.ts";
import type { FieldSchema } from "../../shared/scopes/scope-schema.ts";
import { edit } from "../state/edits.ts";
import { focusPlace } from "../state/navigation.ts";
import { loadLayers } from "../state/open-layers.ts";
import type { Selection } from "../state/place.ts";
import { editKey, findField, orDefault, type ScopeEntry, useScreen } from "../state/store.ts";
import { FieldDetails } from "./field-details.tsx";
import { FieldRow } from "./field-row.tsx";
import { showJson } from "./show-json.ts";
import { useSteadyField } from "./steady-field.ts";

/** Whether the inspector fits beside the fields. */
const wide = matchMedia("(width >= 75rem)");

/** The fields of a repository as rows, and beside them the details of the focused field. */
export function FieldsView({ selection }: { readonly selection: Selection }) {
  const { repo, scope: wantedScope, field: wantedField } = selection;
  const scopes = useScreen(state => state.scopes);
  const effective = useScreen(state => state.opened.get(repo)?.effective);
  const stored = useScreen(state => state.opened.get(repo)?.stored);
  const revision = useScreen(state => state.opened.get(repo)?.revision);
  const isWide = useSyncExternalStore(onWideChange, () => wide.matches);
  const [filter, setFilter] = useState("");
  /** The field that has had the focus since the filter was typed: it stays, whatever its value becomes. */
  const [held, setHeld] = useState<string>();
  const pending = useScreen(state => state.pending);
  const container = useRef<HTMLDivElement>(null);
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
  const isKept = (scope: string, field: string) => held === joinConfigPath(scope, field);
  const valuesOf = (scope: string, field: string, byDefault: JsonValue | undefined) => {
    const edited = pending.get(editKey(repo, scope, field));
    const value = orDefault(configValue(effective ?? {}, scope, field), byDefault);
    return edited === undefined ? [value] : [value, orDefault(edited.value, byDefault)];
  };
  const shown = filtered(scopes, filter, isKept, valuesOf);
  const [all, found] = [countFields(scopes), countFields(shown)];
  const modified = [...configEntries(stored ?? {})];
  const resetAll = (scope?: string) => {
    for (const one of modified)
      if (scope === undefined || scope === one.scope) edit(repo, one.scope, one.field, undefined);
  };
  const inspected = wantedScope && wantedField ? findField(scopes, wantedScope, wantedField) : undefined;
  return (
    <div className="fields" data-inspected={isWide}>
      <div ref={container}>
        <div className="fields-tools">
          <input
            className="input"
            id="field-filter"
            type="search"
            aria-label="Filter fields"
            placeholder="Filter fields"
            spellCheck={false}
            value={filter}
            onChange={event => {
              setHeld(undefined);
              setFilter(event.target.value);
            }}
          />
          <p className="hint" role="status">
            {filter.trim() !== "" && `${found} of ${all} fields`}
          </p>
          {modified.length > 0 && (
            <button type="button" className="link" onClick={() => resetAll()}>
              Reset all {modified.length} modified {modified.length === 1 ? "field" : "fields"}
            </button>
          )}
        </div>
        {shown.map(({ scope, schema }) => {
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
              {Object.entries(schema.properties).map(([field, fieldSchema]) => (
                <FieldRow
                  key={field}
                  repo={repo}
                  scope={scope}
                  field={field}
                  schema={fieldSchema}
                  current={wantedScope === scope && wantedField === field}
                  holdsDetails={!isWide}
                  onFocus={() => {
                    setHeld(joinConfigPath(scope, field));
                    focusPlace({ page: "repo", view: "fields", repo, scope, field });
                  }}
                />
              ))}
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

/** The scopes, reduced to the fields that are kept, or whose path, title or one of whose values contains each of the words. */
function filtered(
  scopes: readonly ScopeEntry[],
  filter: string,
  isKept: (scope: string, field: string) => boolean,
  valuesOf: (scope: string, field: string, byDefault: JsonValue | undefined) => readonly (JsonValue | undefined)[],
): readonly ScopeEntry[] {
  const words = filter.trim().toLowerCase().split(/\s+/);
  if (words[0] === "") return scopes;
  const matches = (scope: string, field: string, schema: FieldSchema) => {
    if (isKept(scope, field)) return true;
    const head = `${joinConfigPath(scope, field)}\n${schema.title ?? ""}`;
    return valuesOf(scope, field, schema.default).some(value => {
      const text = `${head}\n${showJson(value, schema)}`.toLowerCase();
      return words.every(word => text.includes(word));
    });
  };
  return scopes
    .map(({ scope, schema }) => {
      const properties = Object.entries(schema.properties).filter(([field, one]) => matches(scope, field, one));
      return { scope, schema: { ...schema, properties: Object.fromEntries(properties) } };
    })
    .filter(({ schema }) => Object.keys(schema.properties).length > 0);
}

function countFields(scopes: readonly ScopeEntry[]): number {
  return scopes.reduce((sum, { schema }) => sum + Object.keys(schema.properties).length, 0);
}
