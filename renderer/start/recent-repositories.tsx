import { daemon } from "../state/connection.ts";
import { addressOf } from "../state/place.ts";
import { findRepository, useScreen } from "../state/store.ts";
import { useAnswer } from "../state/use-answer.ts";

const maxShown = 6;
/** What the owner changed lately, of which a page is enough. */
const mine = { query: "by:owner since:7d", limit: 100 };

/** The repositories that this window showed last, then those that the person changed last. */
export function RecentRepositories() {
  const repositories = useScreen(state => state.repositories);
  const recent = useScreen(state => state.recent);
  const { result: changes } = useAnswer(() => daemon().request("history/search", mine), []) ?? {};
  const changed = (changes ?? []).map(({ repo }) => repo);
  const shown = recent.flatMap(place => (place.page === "repo" ? [place.repo] : []));
  const entries = [...new Set([...shown, ...changed])].flatMap(id => findRepository({ repositories }, id) ?? []);
  if (entries.length === 0) return undefined;
  return (
    <section aria-labelledby="overview-repositories">
      <h2 id="overview-repositories">Recent repositories</h2>
      <ul className="overview-list">
        {entries.slice(0, maxShown).map(({ id, name, path }) => (
          <li key={id}>
            <a className="link" href={addressOf({ page: "repo", view: "fields", repo: id })}>
              {name}
            </a>
            <span className="hint overview-path">{path ?? "no folder"}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
