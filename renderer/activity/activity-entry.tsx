import { useState } from "react";
import type { FoundHistoryEntry } from "../../shared/protocol.ts";
import { EntryChanges } from "../history/entry-changes.tsx";
import { canBeReverted, EntryFacts } from "../history/entry-facts.tsx";
import { addressOf } from "../state/place.ts";
import { nameOfRepository, useScreen } from "../state/store.ts";
import { type Group, keyOf } from "./activity-list.ts";

/** Parts of a batch that are shown before one asks for all. */
const mostParts = 5;

interface ActivityEntryProps {
  readonly group: Group;
  onRevert(): void;
}

/** One change, or all that a batch changed: where, when, by whom, why and what. */
export function ActivityEntry({ group: { first, rest }, onRevert }: ActivityEntryProps) {
  const repositories = useScreen(state => state.repositories);
  const [isWhole, setIsWhole] = useState(false);
  const entries = [first, ...rest];
  const isBatch = rest.length > 0;
  const count = new Set(entries.map(({ repo }) => repo)).size;
  const where = count === 1 ? nameOfRepository({ repositories }, first.repo) : `${count} repositories`;
  const shown = isWhole || entries.length <= mostParts + 1 ? entries : entries.slice(0, mostParts);
  return (
    <li className="timeline-entry">
      <header>
        <h2>{count === 1 ? <RepositoryLink repo={first.repo} /> : where}</h2>
        <EntryFacts entry={first} />
        {!isBatch && <RevisionLink entry={first} />}
        <span className="timeline-tools">
          {entries.some(canBeReverted) && (
            <button type="button" className="button button-quiet" onClick={onRevert}>
              Revert…
              <span className="visually-hidden">
                {isBatch ? ` what changed in ${where}` : ` revision ${first.revision} of ${where}`}
              </span>
            </button>
          )}
        </span>
      </header>
      <Reasons entries={entries} />
      {!isBatch && <EntryChanges entry={first} />}
      {isBatch &&
        shown.map(entry => (
          <section
            key={keyOf(entry)}
            className="activity-part"
            aria-label={nameOfRepository({ repositories }, entry.repo)}
          >
            <header>
              <h3>
                <RepositoryLink repo={entry.repo} />
              </h3>
              <RevisionLink entry={entry} />
            </header>
            <EntryChanges entry={entry} />
          </section>
        ))}
      {shown.length < entries.length && (
        <button type="button" className="link" onClick={() => setIsWhole(true)}>
          Show {entries.length - shown.length} more of this batch
        </button>
      )}
    </li>
  );
}

function Reasons({ entries }: { readonly entries: readonly FoundHistoryEntry[] }) {
  const reasons = new Set(entries.flatMap(({ reason }) => (reason === undefined ? [] : [reason])));
  return [...reasons].map(reason => (
    <p key={reason} className="timeline-reason">
      {reason}
    </p>
  ));
}

function RepositoryLink({ repo }: { readonly repo: string }) {
  const name = useScreen(state => nameOfRepository(state, repo));
  return (
    <a className="link" href={addressOf({ page: "repo", view: "fields", repo })}>
      {name}
    </a>
  );
}

function RevisionLink({ entry: { repo, revision } }: { readonly entry: FoundHistoryEntry }) {
  return (
    <a className="link hint" href={addressOf({ page: "repo", view: "history", repo })}>
      revision {revision}
    </a>
  );
}
