import { lazy, type RefObject, Suspense, useEffect, useLayoutEffect, useRef } from "react";
import { joinConfigPath } from "../../shared/config-path.ts";
import { HistoryView } from "../history/history-view.tsx";
import { Nothing } from "../parts/nothing.tsx";
import { open } from "../state/navigation.ts";
import { addressOf, type Selection, type View, views } from "../state/place.ts";
import { findRepository, nameOfRepository, useScreen } from "../state/store.ts";
import { ProposalsNote } from "../waiting/proposals.tsx";
import { FieldsView } from "./fields-view.tsx";
import { HealthNote } from "./health-note.tsx";
import { RepositoryMenu } from "./repository-menu.tsx";

const loadFileView = () => import("../file/file-view.tsx");
/** With its editor it is a third of the screen's code, so it is loaded separately. */
const FileView = lazy(() => loadFileView().then(({ FileView: view }) => ({ default: view })));
/** Milliseconds after which it is loaded in advance, so that it is also available when the daemon is gone. */
const fileViewDelay = 500;

/** One repository: its fields, its history, or its file. */
export function RepositoryPage({ view, selection }: { readonly view: View; readonly selection: Selection }) {
  const { repo, scope, field } = selection;
  const entry = useScreen(state => findRepository(state, repo));
  const base = useScreen(state => (entry?.base === undefined ? undefined : nameOfRepository(state, entry.base)));
  const isKnown = useScreen(state => state.repositories !== undefined);
  const opened = useScreen(state => state.opened.has(repo));
  const isTextEdited = useScreen(state => state.drafts.has(repo));
  const article = useRef<HTMLElement>(null);
  useScrollPlace(article, `${repo} ${view} ${opened}`);
  const isThere = entry !== undefined;
  useEffect(() => {
    if (isThere) void open(repo);
  }, [repo, isThere]);
  useEffect(() => {
    const timer = setTimeout(() => void loadFileView().catch(() => {}), fileViewDelay);
    return () => clearTimeout(timer);
  }, []);
  if (!isKnown) return <p className="waiting">Reading…</p>;
  if (entry === undefined) return <Nothing what={`There is no repository ${repo}. It may have been removed.`} />;
  return (
    <article className="page" aria-labelledby="page-title" ref={article}>
      <header className="page-head">
        <div>
          <h1 id="page-title" title={entry.name}>
            {entry.name}
          </h1>
          <p className="page-place" title={entry.path}>
            {entry.path ?? "no folder"}
            {entry.inTree && " · kept in the work tree"}
            {entry.base !== undefined && (
              <>
                {" · worktree of "}
                <a className="link" href={addressOf({ page: "repo", view, repo: entry.base })}>
                  {base}
                </a>
              </>
            )}
            {" · "}
            revision {entry.revision}
          </p>
        </div>
        <span className="page-actions">
          <a className="link" href={addressOf({ page: "compare", left: { kind: "now", repo } })}>
            Compare
          </a>
          <RepositoryMenu name={entry.name} />
        </span>
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
      <ProposalsNote repo={repo} />
      {!opened ? (
        <p className="waiting">Reading…</p>
      ) : view === "fields" ? (
        <FieldsView key={repo} selection={selection} />
      ) : view === "history" ? (
        <HistoryView
          key={repo}
          repo={repo}
          field={scope === undefined || field === undefined ? undefined : joinConfigPath(scope, field)}
        />
      ) : (
        <Suspense fallback={<p className="waiting">Reading…</p>}>
          <FileView key={repo} repo={repo} />
        </Suspense>
      )}
    </article>
  );
}

/** How far each page is scrolled down, by its key, in pixels. */
const places = new Map<string, number>();

/** Restores a page's scroll position on return; a new page starts at the top. */
function useScrollPlace(container: RefObject<HTMLElement | null>, key: string): void {
  useLayoutEffect(() => {
    const scroller = container.current?.closest("main");
    if (!scroller) return;
    scroller.scrollTop = places.get(key) ?? 0;
    const remember = () => places.set(key, scroller.scrollTop);
    scroller.addEventListener("scroll", remember, { passive: true });
    return () => scroller.removeEventListener("scroll", remember);
  }, [container, key]);
}
