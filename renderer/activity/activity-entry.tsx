import { useMemo } from "react";
import type { FoundHistoryEntry } from "../../shared/protocol.ts";
import { EntryChanges } from "../history/entry-changes.tsx";
import { canBeReverted, EntryFacts } from "../history/entry-facts.tsx";
import { addressOf } from "../state/place.ts";
import { nameOfRepository, useScreen } from "../state/store.ts";
import { countRepositories, type Group, keyOf } from "./activity-list.ts";
import { FirstOnes } from "./first-ones.tsx";
import { RepositoryLinks } from "./repository-links.tsx";

interface ActivityEntryProps {
  readonly group: Group;
  onRevert(): void;
}

/** One change, or all changes of a batch: where, when, by whom, why and what. */
export function ActivityEntry({ group, onRevert }: ActivityEntryProps) {
  const { first, rest, isOpen } = group;
  const name = useScreen(state => nameOfRepository(state, first.repo));
  const isBatch = isOpen || rest.length > 0;
  const where = countRepositories(group);
  return (
    <li className="timeline-entry">
      <header>
        <h2>{isBatch ? where : <RepositoryLinks repositories={[first.repo]} />}</h2>
        <EntryFacts entry={first} />
        {!isBatch && (
          <a className="link hint" href={addressOf({ page: "repo", view: "history", repo: first.repo })}>
            revision {first.revision}
          </a>
        )}
        <span className="timeline-tools">
          {[first, ...rest].some(canBeReverted) && (
            <button type="button" className="button button-quiet" onClick={onRevert}>
              Revert…
              <span className="visually-hidden">
                {isBatch ? ` the changes in ${where}` : ` revision ${first.revision} of ${name}`}
              </span>
            </button>
          )}
        </span>
      </header>
      <Reasons entries={[first, ...rest]} />
      {isBatch ? <BatchChanges group={group} /> : <EntryChanges entry={first} />}
    </li>
  );
}

/** The changes of a batch; repositories with the same changes are grouped. */
function BatchChanges({ group: { first, rest } }: { readonly group: Group }) {
  const parts = useMemo(
    () => Array.from(Map.groupBy([first, ...rest], ({ changes }) => JSON.stringify(changes)).values()),
    [first, rest],
  );
  return (
    <FirstOnes most={5} what="different changes">
      {parts.flatMap(([one, ...same]) =>
        one === undefined
          ? []
          : [
              <section key={keyOf(one)} className="activity-part">
                <h3>
                  <RepositoryLinks repositories={[one, ...same].map(({ repo }) => repo)} />
                </h3>
                <EntryChanges entry={one} />
              </section>,
            ],
      )}
    </FirstOnes>
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
