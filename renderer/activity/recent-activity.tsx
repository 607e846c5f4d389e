import { shortenedList } from "../../shared/shortened.ts";
import { EntryFacts } from "../history/entry-facts.tsx";
import { addressOf } from "../state/place.ts";
import { nameOfRepository, useScreen } from "../state/store.ts";
import { fieldsChanged } from "../state/undo.ts";
import { countRepositories, type Group, grouped } from "./activity-list.ts";
import { useActivity } from "./use-activity.ts";

const query = "since:24h";
/** Large enough to contain most batches as a whole. */
const pageSize = 50;
const maxShown = 5;
/** The maximum of fields named per change. */
const maxNamed = 3;

/** The newest changes of the last day, one line each. */
export function RecentActivity() {
  const { entries, fresh, next } = useActivity(query, pageSize);
  if (entries === undefined) return <p className="hint">Reading…</p>;
  const groups = grouped({ entries: [...fresh, ...entries], next }).slice(0, maxShown);
  if (groups.length === 0) return <p className="hint">Nothing has changed since yesterday.</p>;
  return (
    <>
      <ol className="recent">
        {groups.map(group => (
          <Recent key={group.key} group={group} />
        ))}
      </ol>
      <p>
        <a className="link" href={addressOf({ page: "activity", query })}>
          All that changed in the last 24 hours
        </a>
      </p>
    </>
  );
}

function Recent({ group }: { readonly group: Group }) {
  const { first, rest, isOpen } = group;
  const name = useScreen(state => nameOfRepository(state, first.repo));
  const isOfOne = !isOpen && rest.every(({ repo }) => repo === first.repo);
  const fields = [...new Set([first, ...rest].flatMap(fieldsChanged))];
  return (
    <li>
      {isOfOne ? (
        <a className="link" href={addressOf({ page: "repo", view: "history", repo: first.repo })}>
          {name}
        </a>
      ) : (
        <a className="link" href={addressOf({ page: "activity", query })}>
          {countRepositories(group)}
        </a>
      )}
      {fields.length === 0 && first.revision === 1 ? (
        <span>added</span>
      ) : (
        <code>{shortenedList(fields, maxNamed)}</code>
      )}
      <EntryFacts entry={first} />
    </li>
  );
}
