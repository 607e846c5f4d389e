import { Menu, Plus, Redo2, Undo2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { splitConfigPath } from "../shared/config-path.ts";
import type { ScreenLink } from "../shared/shell-bridge.ts";
import { ComparePage } from "./compare/compare-page.tsx";
import { AddRepository } from "./dialogs/add-repository.tsx";
import { SignOut } from "./dialogs/sign-out.tsx";
import { SaveBar } from "./edits/save-bar.tsx";
import { KeysPage } from "./keys/keys-page.tsx";
import { NewKeyPage } from "./keys/new-key-page.tsx";
import { SessionsPage } from "./keys/sessions-page.tsx";
import { NoSession } from "./no-session.tsx";
import { ErrorBoundary, FailedPart } from "./page/error-boundary.tsx";
import { Nothing } from "./page/nothing.tsx";
import { Notices } from "./page/notices.tsx";
import { Overview } from "./page/overview.tsx";
import { PageLinks } from "./page/page-links.tsx";
import { RepositoryPage } from "./page/repository-page.tsx";
import { shell } from "./shell.ts";
import { go } from "./state/navigation.ts";
import { addressOf, type Place } from "./state/place.ts";
import { redo, saveEdits, undo } from "./state/saving.ts";
import { type ScreenState, screenStore, useScreen } from "./state/store.ts";
import { isText, SearchBox } from "./tree/search-box.tsx";
import { Tree } from "./tree/tree.tsx";

const connectionTexts: Readonly<Record<Exclude<ScreenState["connection"], "ended">, string>> = {
  connecting: "Connecting…",
  connected: "Connected",
  lost:
    shell === undefined
      ? "The daemon does not answer. Trying again. If it was restarted, run repoconf ui: the new tab has your edits"
      : "The daemon does not answer. Trying again…",
};

/** The whole screen: tree at the side, what is chosen beside it, edits at the foot. */
export function App() {
  const connection = useScreen(state => state.connection);
  const place = useScreen(state => state.place);
  const [adding, setAdding] = useState(false);
  const [drawn, setDrawn] = useDrawer(keyOf(place));
  useShortcuts();
  useShell(() => setAdding(true));
  if (connection === "ended") return <NoSession reason="This session has ended." />;
  return (
    <div className="frame">
      <header className="top">
        <button
          type="button"
          className="button button-quiet drawer-button"
          aria-expanded={drawn}
          aria-controls="repositories"
          onClick={() => setDrawn(!drawn)}
        >
          <Menu aria-hidden="true" />
          Repositories
        </button>
        <a className="brand" href={addressOf({ page: "start" })}>
          Repoconf
        </a>
        <p className="connection" role="status" data-connection={connection}>
          {connectionTexts[connection]}
        </p>
        <PageLinks />
        <span className="top-tools">
          <button type="button" className="button button-quiet" onClick={() => void undo()}>
            <Undo2 aria-hidden="true" />
            Undo
          </button>
          <button type="button" className="button button-quiet" onClick={() => void redo()}>
            <Redo2 aria-hidden="true" />
            Redo
          </button>
          <button type="button" className="button" onClick={() => setAdding(true)}>
            <Plus aria-hidden="true" />
            Add a repository
          </button>
          {/* The desktop app's session is the app's own. */}
          {shell === undefined && <SignOut />}
        </span>
      </header>
      <nav className="side" id="repositories" aria-label="Repositories and fields" data-drawn={drawn}>
        <SearchBox />
        <ErrorBoundary fallback={(...failure) => failedPart("The tree", ...failure)}>
          <Tree />
        </ErrorBoundary>
      </nav>
      <main className="main" tabIndex={-1}>
        <ErrorBoundary key={keyOf(place)} fallback={(...failure) => failedPart("This page", ...failure)}>
          <Page place={place} onAdd={() => setAdding(true)} />
        </ErrorBoundary>
      </main>
      <footer className="foot">
        <Notices />
        <SaveBar />
      </footer>
      {adding && <AddRepository onClose={() => setAdding(false)} />}
    </div>
  );
}

function Page({ place, onAdd }: { readonly place: Place; onAdd(): void }) {
  switch (place.page) {
    case "start":
      return <Overview onAdd={onAdd} />;
    case "repo":
      return <RepositoryPage key={place.repo} view={place.view} selection={place} />;
    case "compare":
      return <ComparePage left={place.left} right={place.right} />;
    case "keys":
      return <KeysPage />;
    case "new-key":
      return <NewKeyPage />;
    case "sessions":
      return <SessionsPage />;
    case "unknown":
      return <Nothing what={`The address ${place.address} leads nowhere.`} />;
  }
}

/** Whether the repositories are shown in a narrow window, where they hide the page: until another page is chosen, or Escape is pressed. */
function useDrawer(page: string) {
  const [drawn, setDrawn] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page closes it.
  useEffect(() => setDrawn(false), [page]);
  useEffect(() => {
    if (!drawn) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !isText(event.target)) setDrawn(false);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [drawn]);
  return [drawn, setDrawn] as const;
}

/** Pages of the same key are one page in several states. */
function keyOf(place: Place): string {
  return place.page === "repo" ? `repo ${place.repo}` : place.page;
}

function failedPart(what: string, message: string, again: () => void) {
  return <FailedPart what={what} message={message} again={again} />;
}

/** Save from everywhere; undo and redo where the keys are not a text's own. */
function useShortcuts(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      // There is nothing to be saved to.
      if (screenStore.getState().connection === "ended") return;
      if (event.key === "F6") {
        event.preventDefault();
        document.querySelector<HTMLElement>('[role="treeitem"][tabindex="0"]')?.focus();
        return;
      }
      if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
      const key = event.key.toLowerCase();
      // What is behind a dialog is not what these keys are for; and no browser saves the page.
      if (document.querySelector('[role="dialog"], [role="alertdialog"]') !== null) {
        if (key === "s") event.preventDefault();
        return;
      }
      if (key === "s" && !event.shiftKey) {
        event.preventDefault();
        void saveEdits("");
      } else if (key === "z" && !isText(event.target)) {
        event.preventDefault();
        void (event.shiftKey ? redo() : undo());
      } else if (key === "y" && !isText(event.target)) {
        event.preventDefault();
        void redo();
      }
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

/** Shows what a link of the desktop app leads to. */
function follow({ repo, field }: ScreenLink): void {
  go({ page: "repo", view: "fields", repo, ...(field !== undefined && splitConfigPath(field)) });
}

/** What the desktop app's menu and links ask for. */
function useShell(add: () => void): void {
  const latest = useRef(add);
  latest.current = add;
  useEffect(() => {
    shell?.onCommand(command => (command === "add" ? latest.current() : void saveEdits("")));
    shell?.onNavigate(follow);
    void shell?.firstLink().then(link => link && follow(link));
  }, []);
}
