import { type RefObject, useEffect, useRef } from "react";
import type { JsonValue } from "../../shared/json.ts";
import { maskedWithin } from "../../shared/scopes/masks.ts";
import { Button } from "../button.tsx";
import { AddEntry, useFocusAdded } from "./add-entry.tsx";
import { type EditorProps, emptyValue, itemSchema, NestedEditor, ownProblems, problemsWithin } from "./editor.tsx";
import { Problems } from "./problems.tsx";

/** An ordered list of values: add, move, remove. */
export function ListEditor({ value, schema, label, problems, revealed, onChange }: EditorProps) {
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [];
  const inner = maskedWithin(schema, itemSchema(schema) ?? {});
  const { container, added } = useFocusAdded(items.length);
  const moved = useRef<string>(undefined);
  // The focus follows the entry, so that the next press moves the same one.
  useEffect(() => {
    if (moved.current === undefined) return;
    container.current?.querySelector<HTMLElement>(`:scope > ${moved.current}`)?.focus();
    moved.current = undefined;
  });
  const move = (from: number, to: number) => {
    moved.current = `:nth-child(${to + 1}) > [data-step="${to - from}"]`;
    const next = items.filter((_, index) => index !== from);
    next.splice(to, 0, items[from] ?? null);
    onChange(next);
  };
  return (
    <div className="list">
      <ol className="list-items" ref={container as RefObject<HTMLOListElement | null>}>
        {items.map((item, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: equal texts may stand in a list twice while it is edited.
          <li className="list-item" key={index}>
            <NestedEditor
              value={item}
              schema={inner}
              label={`${label}, entry ${index + 1}`}
              problems={problemsWithin(problems, String(index))}
              revealed={revealed}
              onChange={next => onChange(items.with(index, next))}
            />
            <Button
              className="button button-quiet button-icon"
              aria-label={`Move entry ${index + 1} of ${label} up`}
              data-step={-1}
              unavailable={index === 0}
              onClick={() => move(index, index - 1)}
            >
              ↑
            </Button>
            <Button
              className="button button-quiet button-icon"
              aria-label={`Move entry ${index + 1} of ${label} down`}
              data-step={1}
              unavailable={index === items.length - 1}
              onClick={() => move(index, index + 1)}
            >
              ↓
            </Button>
            <button
              type="button"
              className="button button-quiet"
              aria-label={`Remove entry ${index + 1} of ${label}`}
              onClick={() => onChange(items.filter((_, other) => other !== index))}
            >
              Remove
            </button>
          </li>
        ))}
      </ol>
      <AddEntry
        label={label}
        onPress={() => {
          added();
          onChange([...items, emptyValue(inner)]);
        }}
      />
      <Problems problems={ownProblems(problems)} />
    </div>
  );
}
