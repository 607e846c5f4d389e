import { problemsIn } from "../../shared/health.ts";
import { addressOf } from "../state/place.ts";
import { useScreen } from "../state/store.ts";

/** What there is to see before a repository is chosen. */
export function Overview({ onAdd }: { onAdd(): void }) {
  const repositories = useScreen(state => state.repositories);
  if (repositories === undefined) return <p className="waiting">Reading…</p>;
  const broken = repositories.filter(({ health }) => problemsIn(health).length > 0);
  const modified = repositories.filter(entry => entry.modified > 0).length;
  return (
    <article className="page overview" aria-labelledby="page-title">
      <h1 id="page-title">{repositories.length === 0 ? "No repository yet" : "Choose a repository"}</h1>
      {repositories.length === 0 ? (
        <p>
          A repository is a folder whose configuration is kept here. Tools on this machine read it, and you change it
          here, in a terminal (<code>repoconf set</code>), or in its file.
        </p>
      ) : (
        <p>
          {repositories.length} {repositories.length === 1 ? "repository" : "repositories"}, {modified} with values that
          differ from the defaults.
        </p>
      )}
      <p>
        <button type="button" className="button button-main" onClick={onAdd}>
          Add a repository
        </button>
      </p>
      {broken.length > 0 && (
        <section aria-labelledby="overview-problems">
          <h2 id="overview-problems">Files with problems</h2>
          <ul className="overview-list">
            {broken.map(({ id, name, health }) => (
              <li key={id}>
                <a className="link" href={addressOf({ page: "repo", view: "fields", repo: id })}>
                  {name}
                </a>
                <span> {problemsIn(health)[0]?.message}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </article>
  );
}
