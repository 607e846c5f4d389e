import { type KeyboardEvent, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import type { Action } from "../actions/action.ts";
import { actions, focusSearch, goWithFocus } from "../actions/actions.ts";
import { shownKeys } from "../actions/keys.ts";
import { Modal } from "../dialogs/modal.tsx";
import { screenStore, useScreen } from "../state/store.ts";
import { type Entry, entriesIn } from "./entries.ts";

/** Places, fields and commands in one list, filtered by what is typed, best match first. Enter goes there. */
export function Palette({ onClose }: { onClose(): void }) {
  const repositories = useScreen(state => state.repositories);
  const [query, setQuery] = useState("");
  const [active, setActive] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const find = useMemo(() => {
    const state = screenStore.getState();
    const applying = actions.filter(({ applies, id }) => id !== "commands" && applies?.(state) !== false);
    return entriesIn({ ...state, repositories }, applying);
  }, [repositories]);
  const entries = useMemo(() => find(query), [find, query]);
  const index = Math.min(active, entries.length - 1);
  useLayoutEffect(() => input.current?.focus(), []);
  useLayoutEffect(() => {
    list.current?.children[index]?.scrollIntoView({ block: "nearest" });
  }, [index]);
  const choose = (entry: Entry<Action> | undefined) => {
    if (entry === undefined) return;
    flushSync(onClose);
    // The dialog returns the focus in the next frame; the chosen entry may move it from there.
    requestAnimationFrame(() => follow(entry));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const moves: { readonly [key: string]: number } = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    const step = moves[event.key];
    if (step !== undefined) {
      event.preventDefault();
      const last = entries.length - 1;
      const next = index + step;
      // A single step wraps around.
      if (Math.abs(step) === 1) setActive(next > last ? 0 : next < 0 ? last : next);
      else setActive(Math.max(0, Math.min(last, next)));
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(entries[index]);
    }
  };
  return (
    <Modal title="Go to a place, or run a command" className="palette" onClose={onClose}>
      <input
        ref={input}
        className="input"
        role="combobox"
        aria-label="Find a place or a command"
        aria-expanded="true"
        aria-autocomplete="list"
        aria-controls={`${id}-list`}
        aria-activedescendant={`${id}-${index}`}
        placeholder="Type a repository, a field or a command"
        autoComplete="off"
        spellCheck={false}
        value={query}
        onChange={event => {
          setQuery(event.target.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div className="palette-list" role="listbox" aria-label="Places and commands" id={`${id}-list`} ref={list}>
        {entries.map((entry, at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the input, which keeps the focus.
          <div
            key={entry.id}
            id={`${id}-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={at === index}
            className="palette-entry"
            onClick={() => choose(entry)}
          >
            <span className="palette-title">{entry.title}</span>
            <span className="palette-detail">{entry.detail}</span>
            {"action" in entry.target && entry.target.action.keys?.[0] !== undefined && (
              <kbd>{shownKeys(entry.target.action.keys[0])}</kbd>
            )}
            <span className="palette-kind">{entry.kind}</span>
          </div>
        ))}
      </div>
    </Modal>
  );
}

function follow({ target }: Entry<Action>): void {
  if ("action" in target) target.action.run();
  else if ("query" in target) focusSearch(target.query);
  else goWithFocus(target.place);
}
