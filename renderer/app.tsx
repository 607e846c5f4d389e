import { useEffect } from "react";
import { splitConfigPath } from "../shared/config-path.ts";
import type { ScreenLink } from "../shared/shell-bridge.ts";
import { isText } from "./actions/keys.ts";
import { useShortcuts } from "./actions/use-shortcuts.ts";
import { ActivityPage } from "./activity/activity-page.tsx";
import { ComparePage } from "./compare/compare-page.tsx";
import { Dialogs } from "./dialogs/dialogs.tsx";
import { SaveBar } from "./edits/save-bar.tsx";
import { Header } from "./frame/header.tsx";
import { Notices } from "./frame/notices.tsx";
import { useTitle } from "./frame/use-title.ts";
import { KeysPage } from "./keys/keys-page.tsx";
import { NewKeyPage } from "./keys/new-key-page.tsx";
import { SessionsPage } from "./keys/sessions-page.tsx";
import { MatrixPage } from "./matrix/matrix-page.tsx";
import { NoSession } from "./no-session.tsx";
import { ErrorBoundary, FailedPart } from "./parts/error-boundary.tsx";
import { Nothing } from "./parts/nothing.tsx";
import { RepositoryPage } from "./repository/repository-page.tsx";
import { shell } from "./shell.ts";
import { Overview } from "./start/overview.tsx";
import { openDialog } from "./state/dialog.ts";
import { go } from "./state/navigation.ts";
import { type Place, pageKeyOf } from "./state/place.ts";
import { saveEdits } from "./state/saving.ts";
import { screenStore, useScreen } from "./state/store.ts";
import { SearchBox } from "./tree/search-box.tsx";
import { Tree } from "./tree/tree.tsx";

/** The whole screen: the tree on the left, the selection beside it, edits at the bottom. */
export function App() {
  const connection = useScreen(state => state.connection);
  const place = useScreen(state => state.place);
  const drawn = useDrawer(pageKeyOf(place));
  useShortcuts();
  useTitle();
  useShell();
  if (connection === "ended") return <NoSession reason="This session has ended." />;
  return (
    <div className="frame">
      <Header />
      <nav className="side" id="repositories" aria-label="Repositories and fields" data-drawn={drawn} data-region>
        <SearchBox />
        <ErrorBoundary fallback={(...failure) => failedPart("The tree", ...failure)}>
          <Tree />
        </ErrorBoundary>
      </nav>
      <main className="main" tabIndex={-1} data-region>
        <ErrorBoundary key={pageKeyOf(place)} fallback={(...failure) => failedPart("This page", ...failure)}>
          <Page place={place} onAdd={() => openDialog("add")} />
        </ErrorBoundary>
      </main>
      <footer className="foot" data-region>
        <Notices />
        <SaveBar />
      </footer>
      <Dialogs />
    </div>
  );
}

function Page({ place, onAdd }: { readonly place: Place; onAdd(): void }) {
  switch (place.page) {
    case "start":
      return <Overview onAdd={onAdd} />;
    case "repo":
      return <RepositoryPage key={place.repo} view={place.view} selection={place} />;
    case "matrix":
      return <MatrixPage query={place.query} />;
    case "activity":
      return <ActivityPage query={place.query} />;
    case "compare":
      return <ComparePage left={place.left} right={place.right} />;
    case "keys":
      return <KeysPage />;
    case "new-key":
      return <NewKeyPage />;
    case "sessions":
      return <SessionsPage />;
    case "unknown":
      return <Nothing what={`There is no page at ${place.address}.`} />;
  }
}

/** The repository drawer, which covers the page in a narrow window until another page is chosen or Escape is pressed. */
function useDrawer(page: string): boolean {
  const drawn = useScreen(state => state.drawn);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page closes it.
  useEffect(() => screenStore.setState({ drawn: false }), [page]);
  useEffect(() => {
    if (!drawn) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape" && !isText(event.target)) screenStore.setState({ drawn: false });
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [drawn]);
  return drawn;
}

function failedPart(what: string, message: string, again: () => void) {
  return <FailedPart what={what} message={message} again={again} />;
}

/** Goes to the target of a desktop app link. */
function follow({ repo, field }: ScreenLink): void {
  go({ page: "repo", view: "fields", repo, ...(field !== undefined && splitConfigPath(field)) });
}

/** Handles the commands and links of the desktop app. */
function useShell(): void {
  useEffect(() => {
    shell?.onCommand(command => (command === "add" ? openDialog("add") : void saveEdits("")));
    shell?.onNavigate(follow);
    void shell?.firstLink().then(link => link && follow(link));
  }, []);
}
