import { addressOf } from "../state/place.ts";
import { useScreen } from "../state/store.ts";

/** The pages beside the repositories. */
export function PageLinks() {
  const page = useScreen(state => state.place.page);
  const isKeys = page === "keys" || page === "new-key";
  return (
    <nav aria-label="Pages" className="page-links">
      <a
        className="link"
        href={addressOf({ page: "activity", query: "" })}
        aria-current={page === "activity" ? "page" : undefined}
      >
        Activity
      </a>
      <a className="link" href={addressOf({ page: "keys" })} aria-current={isKeys ? "page" : undefined}>
        Keys
      </a>
      <a
        className="link"
        href={addressOf({ page: "sessions" })}
        aria-current={page === "sessions" ? "page" : undefined}
      >
        Sessions
      </a>
    </nav>
  );
}
