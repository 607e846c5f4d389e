import type { IndexingProgress } from "../../shared/protocol.ts";
import { RecentActivity } from "../activity/recent-activity.tsx";
import { useScreen } from "../state/store.ts";
import { FirstSteps } from "./first-steps.tsx";
import { RecentRepositories } from "./recent-repositories.tsx";
import { RepositoryList } from "./repository-list.tsx";
import { ToDo } from "./to-do.tsx";

/** With fewer files than this, reading them takes less time than reading the message. */
const shownFrom = 100;

function describeReading(indexing: IndexingProgress | undefined): string {
  if (indexing === undefined || indexing.total < shownFrom) return "Reading…";
  return `Reading ${indexing.done.toLocaleString("en")} of ${indexing.total.toLocaleString("en")} files…`;
}

/** The start page: what needs attention, and what changed since yesterday. */
export function Overview({ onAdd }: { onAdd(): void }) {
  const repositories = useScreen(state => state.repositories);
  const indexing = useScreen(state => state.indexing);
  const problems = useScreen(state => state.problems);
  if (repositories === undefined) return <p className="waiting">{describeReading(indexing)}</p>;
  const modified = repositories.filter(entry => entry.modified > 0).length;
  return (
    <article className="page overview" aria-labelledby="page-title">
      <h1 id="page-title">{repositories.length === 0 ? "No repository yet" : "Needs attention"}</h1>
      {repositories.length > 0 && (
        <p>
          {repositories.length} {repositories.length === 1 ? "repository" : "repositories"}, {modified} with values that
          differ from the defaults.
        </p>
      )}
      {modified === 0 && <FirstSteps hasRepository={repositories.length > 0} onAdd={onAdd} />}
      {repositories.length > 0 && (
        <p>
          <button type="button" className="button button-main" onClick={onAdd}>
            Add a repository
          </button>
        </p>
      )}
      {repositories.length + problems.length > 0 && (
        <>
          <ToDo repositories={repositories} />
          <RepositoryList title="Favourites" entries={repositories.filter(({ favourite }) => favourite)} />
          <RecentRepositories />
          <section aria-labelledby="overview-recent">
            <h2 id="overview-recent">Changed since yesterday</h2>
            <RecentActivity />
          </section>
        </>
      )}
    </article>
  );
}
