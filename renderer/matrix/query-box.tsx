import { useEffect, useRef, useState } from "react";

/** Milliseconds after the last key press until the query is applied. */
const typingDelay = 250;

interface QueryBoxProps {
  /** The query of the address. */
  readonly query: string;
  /** The id of the message that says what is wrong with it. */
  readonly describedBy: string | undefined;
  /** Called when another query was typed. */
  onQuery(query: string): void;
  /** Called when the person moves on to the results. */
  onDone(): void;
}

/** The box for the query. It gets the focus if the page opens without a query. */
export function QueryBox({ query, describedBy, onQuery, onDone }: QueryBoxProps) {
  const [text, setText] = useState(query);
  const [known, setKnown] = useState(query);
  const box = useRef<HTMLInputElement>(null);
  // Back or a link has led to another query.
  if (query !== known) {
    setKnown(query);
    setText(query);
  }
  useEffect(() => {
    if (box.current?.value === "") box.current.focus();
  }, []);
  const take = (next: string) => {
    setKnown(next);
    onQuery(next);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed counts.
  useEffect(() => {
    if (text === query) return;
    const timer = setTimeout(() => take(text), typingDelay);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <search className="matrix-query">
      <input
        ref={box}
        className="input"
        type="search"
        aria-label="Query"
        aria-invalid={describedBy !== undefined}
        aria-describedby={describedBy}
        placeholder="All fields. Try field:svc.proxy_https=off, modified, by:ci, since:7d, repo:web*"
        spellCheck={false}
        value={text}
        onChange={event => setText(event.target.value)}
        onKeyDown={event => {
          if (event.key === "Enter") take(text);
          else if (event.key === "ArrowDown") onDone();
          else return;
          event.preventDefault();
        }}
      />
    </search>
  );
}
