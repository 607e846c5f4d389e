import { useEffect, useState } from "react";
import { daemon } from "../state/connection.ts";
import { addressOf } from "../state/place.ts";
import { findRepository, useScreen } from "../state/store.ts";

const maxShown = 6;
/** What the owner changed lately, of which a page is enough. */
const mine = { query: "by:owner since:7d", limit: 100 };

/** The repositories that this window showed last, then those that the person changed last. */
export function RecentRepositories() {
  const repositories = useScreen(state => state.repositories);
  const recent = useScreen(state => state.recent);
  const connected = useScreen(state => state.connection === "connected");
  const [changed, setChanged] = useState<readonly string[]>([]);
  useEffect(() => {
    if (!connected) return;
    let isWanted = true;
    daemon()
      .request("history/search", mine)
      .then(
        ({ result }) => isWanted && setChanged((result ?? []).map(({ repo }) => repo)),
        // Those that were shown are there without it.
        () => {},
      );
    return () => {
      isWanted = false;
    };
  }, [connected]);
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
