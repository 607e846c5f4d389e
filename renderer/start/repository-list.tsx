import { useId } from "react";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import { addressOf } from "../state/place.ts";

interface RepositoryListProps {
  readonly title: string;
  readonly entries: readonly RepositoryEntry[];
}

/** The maximum shown: what comes below has to be in reach. */
const maxShown = 20;

/** Repositories with their folders, each with a link to its fields; renders nothing if there is none. */
export function RepositoryList({ title, entries }: RepositoryListProps) {
  const id = useId();
  if (entries.length === 0) return undefined;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <ul className="overview-list">
        {entries.slice(0, maxShown).map(({ id: repo, name, path }) => (
          <li key={repo}>
            <a className="link" href={addressOf({ page: "repo", view: "fields", repo })}>
              {name}
            </a>
            <span className="hint overview-path">{path ?? "no folder"}</span>
          </li>
        ))}
      </ul>
      {entries.length > maxShown && (
        <p className="hint">And {entries.length - maxShown} more, in the list of repositories.</p>
      )}
    </section>
  );
}
