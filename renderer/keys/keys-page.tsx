import { useState } from "react";
import type { FoundHistoryEntry, ListedKey } from "../../shared/protocol.ts";
import { ActionDialog } from "../dialogs/action-dialog.tsx";
import { Failure } from "../fields/problems.tsx";
import { When } from "../parts/when.tsx";
import { daemon } from "../state/connection.ts";
import { notify } from "../state/notices.ts";
import { addressOf } from "../state/place.ts";
import { nameOfRepository, useScreen } from "../state/store.ts";
import { describeGrants, describeRight } from "./grant-words.ts";
import { LastChange, RevertKeyDialog, useLastChanges } from "./key-changes.tsx";
import { useKeyList } from "./use-key-list.ts";

/** The keys of tools: what each may do, when it expires, when it was used; each can be ended. */
export function KeysPage() {
  const { list, problem } = useKeyList();
  const [ending, setEnding] = useState<string>();
  const [reverting, setReverting] = useState<ListedKey>();
  const keys = list?.entries.filter(({ kind }) => kind === undefined);
  const last = useLastChanges(`${keys?.map(({ id }) => id).join(" ")} ${reverting?.id}`);
  const ended = keys?.find(({ id }) => id === ending);
  return (
    <article className="page keys-page" aria-labelledby="page-title">
      <header className="page-head">
        <h1 id="page-title">Keys</h1>
        <a className="link" href={addressOf({ page: "new-key" })}>
          Create a key
        </a>
      </header>
      <p className="keys-lead">
        A key gives a tool access to what you choose, and nothing else. The history shows the name of the key with each
        change.
      </p>
      <Failure text={problem} />
      {keys === undefined && problem === undefined && <p className="waiting">Reading…</p>}
      {keys?.length === 0 && (
        <p>No keys yet. You do not need one yourself: this window and your terminal have all your rights.</p>
      )}
      {keys !== undefined && keys.length > 0 && (
        <div className="keys-frame">
          <table className="table keys-table">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">What it may do</th>
                <th scope="col">Expires</th>
                <th scope="col">Last used</th>
                <th scope="col">Last change</th>
                <th scope="col">Created</th>
                <td />
              </tr>
            </thead>
            <tbody>
              {keys.map(key => (
                <KeyRow
                  key={key.id}
                  entry={key}
                  last={last.get(key.id)}
                  onUndo={() => setReverting(key)}
                  onRevoke={() => setEnding(key.id)}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {reverting !== undefined && <RevertKeyDialog entry={reverting} onClose={() => setReverting(undefined)} />}
      {ended !== undefined && (
        <ActionDialog
          title={`Revoke the key ${ended.name}?`}
          action={["Revoke key", "Revoking…"]}
          onSubmit={async () => {
            await daemon().run("key/revoke", { id: ended.id });
            notify("done", `Revoked the key ${ended.name}.`);
          }}
          onClose={() => setEnding(undefined)}
        >
          <p>Tools that use it are disconnected immediately. This cannot be undone.</p>
          <p>
            <strong>
              <UseWords entry={ended} />
            </strong>
          </p>
        </ActionDialog>
      )}
    </article>
  );
}

interface KeyRowProps {
  readonly entry: ListedKey;
  /** Its last change, if it made any in the last days. */
  readonly last: FoundHistoryEntry | undefined;
  onUndo(): void;
  onRevoke(): void;
}

function KeyRow({ entry, last, onUndo, onRevoke }: KeyRowProps) {
  const { name, expires, usedAt, connections, createdAt } = entry;
  const isExpired = expires !== undefined && Date.parse(expires) <= Date.now();
  return (
    <tr>
      <th scope="row">{name}</th>
      <td data-label="May">
        <Rights grants={entry.grants} />
        {entry.rights.map(right => (
          <p className="hint" key={right}>
            {describeRight(right)}
          </p>
        ))}
      </td>
      <td data-label="Expires">
        {isExpired && <span className="badge badge-edited">expired</span>}{" "}
        {expires === undefined ? "never" : <When time={expires} />}
      </td>
      <td data-label="Last used">
        {connections > 0 ? (
          <span className="badge">in use now</span>
        ) : usedAt === undefined ? (
          "never"
        ) : (
          <When time={usedAt} />
        )}
      </td>
      <td data-label="Last change">{last === undefined ? "none in 7 days" : <LastChange entry={last} />}</td>
      <td data-label="Created">
        <When time={createdAt} />
      </td>
      <td className="keys-tools">
        {last !== undefined && (
          <button
            type="button"
            className="button button-quiet"
            aria-label={`Undo the changes of ${name}…`}
            onClick={onUndo}
          >
            Undo…
          </button>
        )}
        <button type="button" className="button button-quiet" aria-label={`Revoke… ${name}`} onClick={onRevoke}>
          Revoke…
        </button>
      </td>
    </tr>
  );
}

/** The rights in a short sentence, which opens to all names if some are left out. */
function Rights({ grants }: Pick<ListedKey, "grants">) {
  const repositories = useScreen(state => state.repositories);
  const nameOf = (repo: string) => nameOfRepository({ repositories }, repo);
  const short = describeGrants(grants, nameOf);
  const whole = describeGrants(grants, nameOf, Number.POSITIVE_INFINITY);
  if (short === whole) return short;
  return (
    <details>
      <summary>{short}</summary>
      {whole}
    </details>
  );
}

/** Whether anything would be affected if the key ends. */
function UseWords({ entry: { connections, usedAt } }: { readonly entry: ListedKey }) {
  if (connections > 0)
    return `It is in use now, by ${connections} ${connections === 1 ? "connection" : "connections"}.`;
  if (usedAt === undefined) return "It has never been used.";
  return (
    <>
      It was last used <When time={usedAt} />.
    </>
  );
}
