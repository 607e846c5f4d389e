import { addressOf } from "../state/place.ts";
import { useScreen } from "../state/store.ts";
import { isWithin, pages } from "./pages.ts";

/** The pages beside the repositories. */
export function PageLinks() {
  const current = useScreen(state => state.place);
  return (
    <nav aria-label="Pages" className="page-links">
      {pages.map(({ title, place }) => (
        <a
          key={title}
          className="link"
          href={addressOf(place)}
          aria-current={isWithin(current, place) ? "page" : undefined}
        >
          {title}
        </a>
      ))}
    </nav>
  );
}
