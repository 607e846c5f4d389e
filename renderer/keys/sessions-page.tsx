import { useState } from "react";
import type { ListedKey } from "../../shared/protocol.ts";
import { ActionDialog } from "../dialogs/action-dialog.tsx";
import { signOut } from "../dialogs/sign-out.tsx";
import { Failure } from "../fields/problems.tsx";
import { ago } from "../parts/ago.ts";
import { When } from "../parts/when.tsx";
import { shell } from "../shell.ts";
import { daemon } from "../state/connection.ts";
import { notify } from "../state/notices.ts";
import { useKeyList } from "./use-key-list.ts";

/** The owner's windows, each with a button to end its session. */
export function SessionsPage() {
  const { list, problem } = useKeyList();
  const [ending, setEnding] = useState<readonly string[]>([]);
  const sessions = list?.entries.filter(({ kind }) => kind === "session") ?? [];
  const own = sessions.filter(({ id }) => id === list?.own);
  const others = sessions.filter(({ id }) => id !== list?.own);
  const ended = others.filter(({ id }) => ending.includes(id));
  return (
    <article className="page keys-page" aria-labelledby="page-title">
      <header className="page-head">
        <h1 id="page-title">Sessions</h1>
        {others.length > 1 && (
          <button type="button" className="button" onClick={() => setEnding(others.map(({ id }) => id))}>
            End all others…
          </button>
        )}
      </header>
      <p className="keys-lead">
        Each window that shows this screen has a session with all your rights. A session ends when the daemon stops,
        when you end it, and after 12 hours without use.
      </p>
      <Failure text={problem} />
      {list === undefined && problem === undefined && <p className="waiting">Reading…</p>}
      {list !== undefined && (
        <div className="keys-frame">
          <table className="table keys-table">
            <thead>
              <tr>
                <th scope="col">Window</th>
                <th scope="col">Opened</th>
                <th scope="col">Last used</th>
                <th scope="col">Connected</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {[...own, ...others].map(session => (
                <SessionRow
                  key={session.id}
                  entry={session}
                  isOwn={session.id === list.own}
                  onEnd={() => setEnding([session.id])}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {ended.length > 0 && (
        <ActionDialog
          title={ended.length === 1 ? "End this session?" : `End ${ended.length} sessions?`}
          action={[ended.length === 1 ? "End session" : "End sessions", "Ending…"]}
          onSubmit={async () => {
            for (const { id } of ended) await daemon().run("key/revoke", { id });
            notify("done", ended.length === 1 ? "Ended 1 session." : `Ended ${ended.length} sessions.`);
          }}
          onClose={() => setEnding([])}
        >
          <p>Its window is disconnected immediately. Unsaved edits there can then only be read and copied.</p>
        </ActionDialog>
      )}
    </article>
  );
}

interface SessionRowProps {
  readonly entry: ListedKey;
  readonly isOwn: boolean;
  onEnd(): void;
}

function SessionRow({ entry: { name, createdAt, usedAt, connections }, isOwn, onEnd }: SessionRowProps) {
  return (
    <tr>
      <th scope="row">
        {windowName(name)} {isOwn && <span className="badge">this window</span>}
      </th>
      <td data-label="Opened">
        <When time={createdAt} />
      </td>
      <td data-label="Last used">
        <When time={usedAt ?? createdAt} />
      </td>
      <td data-label="Connected">{connections > 0 ? "yes" : "no"}</td>
      <td className="keys-tools">
        {!isOwn && (
          <button
            type="button"
            className="button button-quiet"
            aria-label={`End… ${windowName(name)}, opened ${ago(createdAt)}`}
            onClick={onEnd}
          >
            End…
          </button>
        )}
        {/* The desktop app manages its session itself. */}
        {isOwn && shell === undefined && (
          <button type="button" className="button button-quiet" onClick={() => void signOut()}>
            Sign out
          </button>
        )}
      </td>
    </tr>
  );
}

/** `owner (browser)` becomes `Browser`. */
function windowName(name: string): string {
  const label = /^owner \((.+)\)$/.exec(name)?.[1] ?? name;
  return label.charAt(0).toUpperCase() + label.slice(1);
}
