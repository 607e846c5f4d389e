import { useEffect, useRef, useState } from "react";

/** Milliseconds after the last key before what is typed is asked for. */
const typingDelay = 250;

interface QueryBoxProps {
  /** That of the address. */
  readonly query: string;
  /** Id of what is wrong with it. */
  readonly describedBy: string | undefined;
  /** Another one was typed. */
  onQuery(query: string): void;
  /** The person moves on to the results. */
  onDone(): void;
}

/** Where a query is typed. It has the focus when the page opens without one: then that is what comes first. */
export function QueryBox({ query, describedBy, onQuery, onDone }: QueryBoxProps) {
  const [text, setText] = useState(query);
  const [known, setKnown] = useState(query);
  const box = useRef<HTMLInputElement>(null);
  // Back, or a link, has led to another one.
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
