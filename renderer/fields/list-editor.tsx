import { type RefObject, useContext, useEffect, useRef } from "react";
import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import { AddEntry, useFocusAdded } from "./add-entry.tsx";
import { nullableOf } from "./alternatives.ts";
import { type EditorProps, NestedEditor, ownProblems, problemsWithin, schemaOfItem } from "./editor.tsx";
import { emptyValue } from "./empty-value.ts";
import { entryText, useEntryFilter } from "./entry-filter.tsx";
import { useEntryKeys } from "./entry-keys.ts";
import { CardItem, ListItem } from "./list-item.tsx";
import { Problems } from "./problems.tsx";
import { partOf, SchemaRoot } from "./resolved-schema.ts";
import { variantsOf } from "./variants.ts";

/** Longer lists of cards begin folded. */
const fewCards = 3;

/** An ordered list of values: add, move, remove. Those with members are numbered cards that fold. */
export function ListEditor({ value, schema, label, problems, revealed, onChange }: EditorProps) {
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [];
  const root = useContext(SchemaRoot);
  const innerAt = (index: number) => partOf(root, schema, schemaOfItem(schema, index));
  const { container, added } = useFocusAdded(items.length);
  const { keys, firstAdded, arrange } = useEntryKeys(items.length);
  const filter = useEntryFilter(label, keys, (_, index) => entryText(items[index], innerAt(index), revealed));
  const moved = useRef<string>(undefined);
  // The focus follows the entry, so that the next press moves the same one.
  useEffect(() => {
    if (moved.current === undefined) return;
    container.current?.querySelector<HTMLElement>(moved.current)?.focus();
    moved.current = undefined;
  });
  const change = (order: readonly number[]) => {
    arrange(order);
    onChange(order.map(from => items[from] ?? null));
  };
  const move = (from: number, step: 1 | -1) => {
    const [item, button] = [`:scope > [data-entry="${keys[from]}"]`, `[data-step="${step}"]`];
    moved.current = `${item} > ${button}, ${item} > header > ${button}`;
    const order = items.map((_, index) => index).filter(index => index !== from);
    change(order.toSpliced(from + step, 0, from));
  };
  return (
    <div className="list">
      {filter.box}
      <ol className="list-items" ref={container as RefObject<HTMLOListElement | null>}>
        {keys.map((key, index) => {
          if (filter.isHidden(key)) return undefined;
          const inner = innerAt(index);
          const within = problemsWithin(problems, String(index));
          const common = {
            ...{ label, index, entry: key, count: items.length },
            onMove: (step: 1 | -1) => move(index, step),
            onRemove: () => change(items.map((_, other) => other).filter(other => other !== index)),
            children: (
              <NestedEditor
                value={items[index] ?? null}
                schema={inner}
                label={`${label}, entry ${index + 1}`}
                problems={within}
                revealed={revealed}
                onChange={next => onChange(items.with(index, next))}
              />
            ),
          };
          const filled = nullableOf(inner, root) ?? inner;
          const isCard = isJsonObject(filled["properties"]) || variantsOf(filled, root).length > 0;
          if (!isCard) return <ListItem key={key} {...common} />;
          return (
            <CardItem
              key={key}
              {...common}
              value={items[index] ?? null}
              schema={revealed ? {} : inner}
              hasProblems={within.length > 0}
              startsOpen={firstAdded <= fewCards || key >= firstAdded}
            />
          );
        })}
      </ol>
      {schemaOfItem(schema, items.length) !== undefined && (
        <AddEntry
          label={label}
          onPress={() => {
            added();
            onChange([...items, emptyValue(innerAt(items.length), root)]);
          }}
        />
      )}
      <Problems problems={ownProblems(problems)} />
    </div>
  );
}
