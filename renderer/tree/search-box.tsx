import { search, searchOn } from "../state/navigation.ts";
import { useScreen } from "../state/store.ts";

/** The search box above the tree. */
export function SearchBox() {
  const query = useScreen(state => state.query);
  const more = useScreen(state => state.found?.next !== undefined);
  return (
    <search className="search">
      <input
        id="search"
        className="input"
        type="search"
        aria-label="Search repositories, fields and values"
        placeholder="Search  (press /)"
        spellCheck={false}
        value={query}
        onChange={event => search(event.target.value)}
        onKeyDown={event => {
          if (event.key !== "ArrowDown") return;
          event.preventDefault();
          document.querySelector<HTMLElement>('[role="treeitem"][tabindex="0"]')?.focus();
        }}
      />
      <div className="search-flags">
        {["@modified", "@broken"].map(flag => {
          const on = query.split(/\s+/).includes(flag);
          const rest = query.split(/\s+/).filter(word => word !== flag && word !== "");
          return (
            <button
              key={flag}
              type="button"
              className="chip"
              aria-pressed={on}
              onClick={() => search(on ? rest.join(" ") : [flag, ...rest].join(" "))}
            >
              {flag.slice(1)}
            </button>
          );
        })}
        {more && (
          <button type="button" className="link search-more" onClick={() => void searchOn()}>
            Show more results
          </button>
        )}
      </div>
    </search>
  );
}
