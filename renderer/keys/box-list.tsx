import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from "react";
import { Failure } from "../fields/problems.tsx";

/** Fewer boxes than this need no filter. */
const fewBoxes = 10;
/** The maximum of boxes shown at once; the filter finds more. */
const maxShown = 200;

export interface Box {
  readonly id: string;
  /** The label; the filter searches it too. */
  readonly name: string;
  readonly note?: ReactNode;
  /** The depth in the tree of boxes; boxes of level 0 are shown even if the filter does not match them. */
  readonly level: 0 | 1 | 2;
  readonly checked: boolean | "mixed";
}

interface BoxListProps {
  readonly legend: string;
  /** "repositories" */
  readonly ofWhat: string;
  readonly boxes: readonly Box[];
  readonly problem: string | undefined;
  readonly children?: ReactNode;
  onToggle(id: string, checked: boolean): void;
}

/** Checkboxes, with a filter if there are many. Tab reaches one of them; arrow keys move between them. */
export function BoxList({ legend, ofWhat, boxes, problem, children, onToggle }: BoxListProps) {
  const [filter, setFilter] = useState("");
  const [active, setActive] = useState<string>();
  const list = useRef<HTMLDivElement>(null);
  const problemId = useId();
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const found = boxes.filter(
    ({ level, name, id }) => level === 0 || words.every(word => `${name}\n${id}`.toLowerCase().includes(word)),
  );
  const shown = found.slice(0, maxShown);
  const inTabOrder = shown.some(({ id }) => id === active) ? active : shown[0]?.id;
  const move = (event: KeyboardEvent) => {
    const inputs = [...(list.current?.querySelectorAll("input") ?? [])];
    const at = inputs.findIndex(input => input.matches(":focus"));
    const next = nextIndex(event.key, at, inputs.length);
    if (at === -1 || next === undefined) return;
    event.preventDefault();
    inputs[next]?.focus();
  };
  return (
    <fieldset className="boxes" aria-describedby={problem === undefined ? undefined : problemId}>
      <legend>{legend}</legend>
      {boxes.length > fewBoxes && (
        <input
          type="search"
          className="input boxes-filter"
          aria-label={`Filter ${ofWhat}`}
          placeholder={`Filter ${ofWhat}`}
          spellCheck={false}
          value={filter}
          onChange={event => setFilter(event.target.value)}
          onKeyDown={event => {
            // Enter would submit the form and create the key.
            if (event.key === "Enter") event.preventDefault();
          }}
        />
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the boxes in it. */}
      <div className="boxes-list" ref={list} onKeyDown={move}>
        {shown.map(({ id, name, note, level, checked }) => (
          <label className="check" key={id} data-level={level}>
            <input
              type="checkbox"
              tabIndex={id === inTabOrder ? 0 : -1}
              checked={checked === true}
              ref={input => {
                if (input !== null) input.indeterminate = checked === "mixed";
              }}
              onFocus={() => setActive(id)}
              onChange={event => onToggle(id, event.target.checked)}
            />
            <span className="box-name">
              {name} {note}
            </span>
          </label>
        ))}
        {found.length > shown.length && (
          <p className="hint">
            {found.length - shown.length} more {ofWhat}: type a part of the name to find them.
          </p>
        )}
      </div>
      {children}
      <Failure id={problemId} text={problem} />
    </fieldset>
  );
}

function nextIndex(key: string, at: number, count: number): number | undefined {
  switch (key) {
    case "ArrowDown":
      return Math.min(at + 1, count - 1);
    case "ArrowUp":
      return Math.max(at - 1, 0);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return undefined;
  }
}
