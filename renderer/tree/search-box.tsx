import { useId } from "react";
import { Failure } from "../fields/problems.tsx";
import { search, searchOn } from "../state/navigation.ts";
import { useScreen } from "../state/store.ts";

/** The search box above the tree. */
export function SearchBox() {
  const query = useScreen(state => state.query);
  const more = useScreen(state => state.found?.next !== undefined);
  // That of an earlier query ends with the first key press.
  const problem = useScreen(state => (state.found?.query === state.query ? state.found.problem : undefined));
  const problemId = useId();
  return (
    <search className="search">
      <input
        id="search"
        className="input"
        type="search"
        aria-label="Search repositories, fields and values"
        aria-invalid={problem !== undefined}
        aria-describedby={problem && problemId}
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
      <Failure id={problemId} text={problem} />
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
