import { useEffect, useRef } from "react";
import { configEntries } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import { FileView } from "../file/file-view.tsx";
import { HistoryView } from "../history/history-view.tsx";
import { edit } from "../state/edits.ts";
import { open } from "../state/navigation.ts";
import { addressOf, type Selection, type View } from "../state/place.ts";
import { findRepository, useScreen } from "../state/store.ts";
import { FieldRow } from "./field-row.tsx";
import { HealthNote } from "./health-note.tsx";
import { Nothing } from "./nothing.tsx";
import { useScrollPlace } from "./scroll-place.ts";
import { useSteadyField } from "./steady-field.ts";

const views: readonly (readonly [View, string])[] = [
  ["fields", "Fields"],
  ["history", "History"],
  ["json", "JSON"],
];

/** One repository: its fields, its history, or its file. */
export function RepositoryPage({ view, selection }: { readonly view: View; readonly selection: Selection }) {
  const { repo, scope, field } = selection;
  const entry = useScreen(state => findRepository(state, repo));
  const isKnown = useScreen(state => state.repositories !== undefined);
  const opened = useScreen(state => state.opened.has(repo));
  const isTextEdited = useScreen(state => state.drafts.has(repo));
  const article = useRef<HTMLElement>(null);
  useScrollPlace(article, `${repo} ${view} ${opened}`);
  const isThere = entry !== undefined;
  useEffect(() => {
    if (isThere) void open(repo);
  }, [repo, isThere]);
  if (!isKnown) return <p className="waiting">Reading…</p>;
  if (entry === undefined) return <Nothing what={`There is no repository ${repo}. It may have been removed.`} />;
  return (
    <article className="page" aria-labelledby="page-title" ref={article}>
      <header className="page-head">
        <div>
          <h1 id="page-title">{entry.name}</h1>
          <p className="page-place">
            {entry.path ?? "no folder"}
            {entry.inTree && " · kept in the work tree"}
            {" · "}
            revision {entry.revision}
          </p>
        </div>
        <nav className="tabs" aria-label="Views of this repository">
          {views.map(([id, title]) => (
            <a
              key={id}
              href={addressOf({ page: "repo", view: id, repo })}
              aria-current={view === id ? "page" : undefined}
            >
              {title}
              {id === "json" && isTextEdited && <span className="badge badge-edited">edited</span>}
            </a>
          ))}
        </nav>
      </header>
      <HealthNote entry={entry} />
      {!opened ? (
        <p className="waiting">Reading…</p>
      ) : view === "fields" ? (
        <Fields selection={selection} />
      ) : view === "history" ? (
        <HistoryView
          key={repo}
          repo={repo}
          field={scope === undefined || field === undefined ? undefined : joinConfigPath(scope, field)}
        />
      ) : (
        <FileView key={repo} repo={repo} />
      )}
    </article>
  );
}

function Fields({ selection }: { readonly selection: Selection }) {
  const { repo, scope: wantedScope, field: wantedField } = selection;
  const scopes = useScreen(state => state.scopes);
  const stored = useScreen(state => state.opened.get(repo)?.stored);
  const container = useRef<HTMLDivElement>(null);
  useSteadyField(container);
  // Only when another field is chosen: rows must not jump while one edits.
  useEffect(() => {
    if (wantedScope === undefined) return;
    const id = wantedField === undefined ? `scope-${wantedScope}` : `field-${wantedScope}.${wantedField}`;
    container.current?.querySelector(`#${CSS.escape(id)}`)?.scrollIntoView({ block: "start" });
  }, [wantedScope, wantedField]);
  const resetAll = (scope?: string) => {
    for (const one of configEntries(stored ?? {}))
      if (scope === undefined || scope === one.scope) edit(repo, one.scope, one.field, undefined);
  };
  const count = stored === undefined ? 0 : [...configEntries(stored)].length;
  return (
    <div ref={container}>
      {count > 0 && (
        <p className="page-tools">
          <button type="button" className="link" onClick={() => resetAll()}>
            Reset all {count} modified {count === 1 ? "field" : "fields"} of this repository
          </button>
        </p>
      )}
      {scopes.map(({ scope, schema }) => {
        const modified = Object.keys(stored?.[scope] ?? {}).length;
        return (
          <section className="scope" key={scope} id={`scope-${scope}`} aria-labelledby={`scope-title-${scope}`}>
            <header className="scope-head">
              <h2 id={`scope-title-${scope}`}>{schema.title ?? scope}</h2>
              {schema.description !== undefined && <p>{schema.description}</p>}
              {modified > 0 && scopes.length > 1 && (
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
              />
            ))}
          </section>
        );
      })}
    </div>
  );
}
