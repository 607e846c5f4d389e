import { useEffect } from "react";
import { joinConfigPath } from "../../shared/config-path.ts";
import { isWithin, pages } from "../actions/pages.ts";
import { type Place, views } from "../state/place.ts";
import { nameOfRepository, useScreen } from "../state/store.ts";

/** Names the tab after what it shows, so that several can be told apart; a dot stands for edits that are not saved. */
export function useTitle(): void {
  const place = useScreen(state => state.place);
  const name = useScreen(state => (state.place.page === "repo" ? nameOfRepository(state, state.place.repo) : ""));
  const hasEdits = useScreen(state => state.pending.size + state.drafts.size > 0);
  const title = titleOf(place, name);
  useEffect(() => {
    document.title = `${hasEdits ? "• " : ""}${title === "" ? "" : `${title} · `}Repoconf`;
  }, [title, hasEdits]);
}

function titleOf(place: Place, name: string): string {
  if (place.page === "compare") return "Compare";
  if (place.page !== "repo") return pages.find(page => isWithin(place, page.place))?.title ?? "";
  const { scope, field, view } = place;
  if (scope !== undefined && field !== undefined) return `${joinConfigPath(scope, field)} · ${name}`;
  return view === "fields" ? name : `${views.find(([id]) => id === view)?.[1]} · ${name}`;
}
