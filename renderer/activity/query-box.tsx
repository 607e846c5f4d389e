import { useEffect, useId, useState } from "react";
import type { ErrorEntry } from "../../shared/errors.ts";

/** Milliseconds after the last key press until the query is applied. */
const typingDelay = 250;

interface QueryBoxProps {
  readonly label: string;
  readonly query: string;
  /** Why the query is invalid. */
  readonly error: ErrorEntry | undefined;
  /** Called when another query has been typed. */
  onQuery(query: string): void;
}

/** A box for a query in the language of docs/protocol.md; an invalid part is marked. */
export function QueryBox({ label, query, error, onQuery }: QueryBoxProps) {
  const [typed, setTyped] = useState<string>();
  const errorId = useId();
  useEffect(() => {
    if (typed === undefined) return;
    const timer = setTimeout(() => {
      setTyped(undefined);
      onQuery(typed);
    }, typingDelay);
    return () => clearTimeout(timer);
  }, [typed, onQuery]);
  return (
    <div className="query">
      <input
        className="input"
        type="search"
        aria-label={label}
        aria-invalid={error !== undefined}
        aria-describedby={error && errorId}
        placeholder="field:svc.timeout by:ci since:7d repo:web*"
        spellCheck={false}
        value={typed ?? query}
        onChange={event => setTyped(event.target.value)}
      />
      {error !== undefined && (
        <div className="problem" id={errorId} role="alert">
          <MarkedQuery query={query} error={error} />
          <p>{error.message}</p>
        </div>
      )}
    </div>
  );
}

/** The query, with the invalid part marked, if there is one. */
function MarkedQuery({ query, error }: { readonly query: string; readonly error: ErrorEntry }) {
  const { at, length } = error.details ?? {};
  if (typeof at !== "number" || typeof length !== "number") return undefined;
  return (
    <p aria-hidden="true">
      <code>
        {query.slice(0, at)}
        <mark>{query.slice(at, at + length)}</mark>
        {query.slice(at + length)}
      </code>
    </p>
  );
}
