import { Ellipsis, LogOut, Menu, Plus, Redo2, TextSearch, Undo2 } from "lucide-react";
import { useEffect, useState, useSyncExternalStore } from "react";
import { ActionMenu, type MenuEntry } from "../actions/action-menu.tsx";
import { actionOf } from "../actions/actions.ts";
import { shownKeys } from "../actions/keys.ts";
import { isWithin, pages } from "../actions/pages.ts";
import { shell } from "../shell.ts";
import { addressOf } from "../state/place.ts";
import { type ScreenState, screenStore, useScreen } from "../state/store.ts";

const connectionTexts: Readonly<Record<Exclude<ScreenState["connection"], "ended">, string>> = {
  connecting: "Connecting…",
  connected: "Connected",
  lost:
    shell === undefined
      ? "The daemon is not responding. Reconnecting… If it was restarted, run repoconf ui: the new tab has your edits"
      : "The daemon is not responding. Reconnecting…",
};

interface Tool extends MenuEntry {
  readonly quiet: boolean;
}

const tools: readonly Tool[] = [
  { text: "Undo", icon: <Undo2 aria-hidden="true" />, action: actionOf("undo"), quiet: true },
  { text: "Redo", icon: <Redo2 aria-hidden="true" />, action: actionOf("redo"), quiet: true },
  { text: "Add a repository", icon: <Plus aria-hidden="true" />, action: actionOf("add"), quiet: false },
  { text: "Sign out", icon: <LogOut aria-hidden="true" />, action: actionOf("sign-out"), quiet: true },
].filter(({ action }) => action.applies?.(screenStore.getState()) !== false);

/** Whether all tools fit beside each other. */
const roomy = matchMedia("(width >= 78rem)");

/** Links to the pages, the state of the connection, and commands. In a smaller window the rest is in a menu. */
export function Header() {
  const connection = useScreen(state => state.connection);
  const problems = useScreen(state => state.problems.length);
  const silentSince = useScreen(state => state.silentSince);
  const drawn = useScreen(state => state.drawn);
  const isRoomy = useSyncExternalStore(onRoomChange, () => roomy.matches);
  const commands = actionOf("commands");
  return (
    <header className="top" data-region>
      <button
        type="button"
        className="button button-quiet drawer-button"
        aria-expanded={drawn}
        aria-controls="repositories"
        onClick={() => screenStore.setState({ drawn: !drawn })}
      >
        <Menu aria-hidden="true" />
        Repositories
      </button>
      <a className="brand" href={addressOf({ page: "start" })}>
        Repoconf
      </a>
      {connection !== "ended" && (
        <p className="connection" role="status" data-connection={silentSince === undefined ? connection : "lost"}>
          {silentSince === undefined ? connectionTexts[connection] : <Silence since={silentSince} />}
          {connection === "connected" && problems > 0 && (
            <a className="link problem" href={addressOf({ page: "start" })}>
              {problems === 1 ? "1 problem" : `${problems} problems`}
            </a>
          )}
        </p>
      )}
      <PageLinks />
      <span className="top-tools">
        <button type="button" className="button button-quiet" onClick={commands.run}>
          <TextSearch aria-hidden="true" />
          Commands
          <kbd>{shownKeys(commands.keys?.[0] ?? "")}</kbd>
        </button>
        {isRoomy ? tools.map(tool => <ToolButton key={tool.text} {...tool} />) : <ToolMenu />}
      </span>
    </header>
  );
}

/** For how long the daemon has not answered. Screen readers are told once. */
function Silence({ since }: { readonly since: number }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <span>
      The daemon does not answer<span aria-hidden="true"> for {Math.max(0, Math.round((now - since) / 1_000))} s</span>
    </span>
  );
}

function ToolButton({ text, icon, action, quiet }: Tool) {
  return (
    <button
      type="button"
      className={quiet ? "button button-quiet" : "button"}
      title={action.keys?.[0] && `${action.title} (${shownKeys(action.keys[0])})`}
      onClick={action.run}
    >
      {icon}
      {text}
    </button>
  );
}

function ToolMenu() {
  return (
    <ActionMenu label="More" className="button button-quiet" entries={tools}>
      <Ellipsis aria-hidden="true" />
      More
    </ActionMenu>
  );
}

function onRoomChange(listener: () => void): () => void {
  roomy.addEventListener("change", listener);
  return () => roomy.removeEventListener("change", listener);
}

/** The pages beside the repositories. */
function PageLinks() {
  const current = useScreen(state => state.place);
  return (
    <nav aria-label="Pages" className="page-links">
      {pages.map(({ title, place }) => (
        <a
          key={title}
          className="link"
          href={addressOf(place)}
          aria-current={isWithin(current, place) ? "page" : undefined}
        >
          {title}
        </a>
      ))}
    </nav>
  );
}
