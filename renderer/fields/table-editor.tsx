import { type KeyboardEvent, type ReactNode, type RefObject, useContext } from "react";
import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import { maskedWithin, schemaOf } from "../../shared/scopes/masks.ts";
import { AddEntry, useFocusAdded } from "./add-entry.tsx";
import { type EditorProps, itemSchema, NestedEditor, ownProblems, problemsWithin } from "./editor.tsx";
import { emptyValue } from "./empty-value.ts";
import { entryText, useEntryFilter } from "./entry-filter.tsx";
import { useEntryKeys } from "./entry-keys.ts";
import { Problems } from "./problems.tsx";
import { partOf, resolvedIn, SchemaRoot } from "./resolved-schema.ts";

interface TableEditorProps extends EditorProps {
  /** Whether the masked values of an entry are shown, whatever `revealed` is. */
  isShown?(index: number): boolean;
  /** More buttons of an entry. */
  tools?(index: number): ReactNode;
  /** Whether Enter in one of its texts adds an entry. */
  readonly addsOnEnter?: boolean;
}

/** A table of entries with the same few members. If it is masked, names are shown but the other members are hidden. */
export function TableEditor(props: TableEditorProps) {
  const { value, schema, label, problems, revealed, isShown, tools, addsOnEnter = false, onChange } = props;
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [];
  const root = useContext(SchemaRoot);
  const inner = resolvedIn(root, itemSchema(schema) ?? {});
  const members = Object.entries(isJsonObject(inner["properties"]) ? inner["properties"] : {});
  const { container, added } = useFocusAdded(items.length);
  const { keys, arrange } = useEntryKeys(items.length);
  const filter = useEntryFilter(label, keys, (_, index) =>
    entryText(items[index], maskedWithin(schema, inner), revealed),
  );
  const add = () => {
    added();
    onChange([...items, emptyValue(inner, root)]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { target } = event;
    const isPlain = !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!addsOnEnter || event.key !== "Enter" || !isPlain || event.nativeEvent.isComposing) return;
    // In a text of several lines, Enter begins one more of them.
    if (!(target instanceof HTMLTextAreaElement) || target.value.includes("\n")) return;
    event.preventDefault();
    add();
  };
  return (
    <div className="table-editor">
      {filter.box}
      {items.length > 0 && (
        <table className="table">
          <thead>
            <tr>
              {members.map(([name, member]) => (
                <th key={name} scope="col">
                  {titleOf(member, name)}
                </th>
              ))}
              <th>
                <span className="visually-hidden">Remove</span>
              </th>
            </tr>
          </thead>
          <tbody ref={container as RefObject<HTMLTableSectionElement | null>} onKeyDown={onKeyDown}>
            {keys.map((key, index) =>
              filter.isHidden(key) ? undefined : (
                <tr key={key}>
                  {members.map(([name, member]) => {
                    const memberSchema = maskedWithin(schema, partOf(root, inner, member, name), name);
                    const item = items[index];
                    const entry = isJsonObject(item) ? item : {};
                    const stored = Object.hasOwn(entry, name) ? entry[name] : undefined;
                    const title = titleOf(member, name);
                    const change = (next: JsonValue) => onChange(items.with(index, { ...entry, [name]: next }));
                    return (
                      <td key={name} data-member={name}>
                        {stored === undefined ? (
                          <button
                            type="button"
                            className="button button-quiet"
                            aria-label={`Add ${title} to entry ${index + 1} of ${label}`}
                            onClick={() => change(emptyValue(memberSchema, root))}
                          >
                            Add
                          </button>
                        ) : (
                          <NestedEditor
                            value={stored}
                            schema={memberSchema}
                            label={`${label}, entry ${index + 1}: ${title}`}
                            problems={problemsWithin(problemsWithin(problems, String(index)), name)}
                            revealed={revealed || isShown?.(index) === true}
                            onChange={change}
                          />
                        )}
                      </td>
                    );
                  })}
                  <td className="table-tools">
                    {tools?.(index)}
                    <button
                      type="button"
                      className="button button-quiet"
                      aria-label={`Remove entry ${index + 1} of ${label}`}
                      onClick={() => {
                        arrange(items.map((_, other) => other).filter(other => other !== index));
                        onChange(items.filter((_, other) => other !== index));
                      }}
                    >
                      Remove
                    </button>
                  </td>
                </tr>
              ),
            )}
          </tbody>
        </table>
      )}
      <AddEntry label={label} onPress={add} />
      <Problems problems={ownProblems(problems)} />
    </div>
  );
}

function titleOf(schema: unknown, name: string): string {
  return schemaOf(schema).title ?? name;
}
