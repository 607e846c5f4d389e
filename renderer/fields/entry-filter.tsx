import { type ReactNode, useState } from "react";
import type { JsonValue } from "../../shared/json.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { showJson } from "../parts/show-json.ts";

/** With more entries than this, a list can be filtered. */
const manyEntries = 20;

/** What a filter finds an entry by: only what the person can see of it. */
export function entryText(value: JsonValue | undefined, schema: ValueSchema, revealed: boolean): string {
  return showJson(value, revealed ? {} : schema);
}

interface EntryFilter<Key> {
  /** The box to type into; undefined: there are few entries. */
  readonly box: ReactNode;
  isHidden(key: Key): boolean;
}

/**
 * Filters the entries of a long list. What is hidden is decided while the person types the filter: an entry that is edited, added or
 * renamed since then stays.
 */
export function useEntryFilter<Key>(
  label: string,
  keys: readonly Key[],
  textOf: (key: Key, index: number) => string,
): EntryFilter<Key> {
  const [filter, setFilter] = useState("");
  const [hidden, setHidden] = useState<ReadonlySet<Key>>(new Set());
  const type = (text: string) => {
    const words = text.trim().toLowerCase().split(/\s+/);
    const isFound = (key: Key, index: number) => {
      const entry = textOf(key, index).toLowerCase();
      return words.every(word => entry.includes(word));
    };
    setFilter(text);
    setHidden(new Set(keys.filter((key, index) => !isFound(key, index))));
  };
  if (keys.length <= manyEntries && filter === "") return { box: undefined, isHidden: () => false };
  const shown = keys.filter(key => !hidden.has(key)).length;
  return {
    box: (
      <div className="entry-filter">
        <input
          className="input"
          type="search"
          aria-label={`Filter the entries of ${label}`}
          placeholder="Filter entries"
          spellCheck={false}
          value={filter}
          onChange={event => type(event.target.value)}
        />
        <span className="hint" role="status">
          {filter.trim() !== "" && `${shown} of ${keys.length} entries`}
        </span>
      </div>
    ),
    isHidden: key => hidden.has(key),
  };
}
