import { daemon } from "../state/connection.ts";
import { findRepository, useScreen } from "../state/store.ts";
import { useAnswer } from "../state/use-answer.ts";
import { RepositoryList } from "./repository-list.tsx";

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
  return <RepositoryList title="Recent repositories" entries={entries.slice(0, maxShown)} />;
}
