import type { RefObject } from "react";
import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import { maskedWithin, schemaOf } from "../../shared/scopes/masks.ts";
import { AddEntry, useFocusAdded } from "./add-entry.tsx";
import { type EditorProps, emptyValue, itemSchema, NestedEditor, ownProblems, problemsWithin } from "./editor.tsx";
import { Problems } from "./problems.tsx";

/** A table of entries with the same few members. If it is masked, names are shown but the other members are hidden. */
export function TableEditor({ value, schema, label, problems, revealed, onChange }: EditorProps) {
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [];
  const inner = itemSchema(schema) ?? {};
  const members = Object.entries(isJsonObject(inner["properties"]) ? inner["properties"] : {});
  const { container, added } = useFocusAdded(items.length);
  return (
    <div className="table-editor">
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
          <tbody ref={container as RefObject<HTMLTableSectionElement | null>}>
            {items.map((item, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: an entry's name changes while it is typed.
              <tr key={index}>
                {members.map(([name, member]) => {
                  const memberSchema = maskedWithin(schema, maskedWithin(inner, schemaOf(member), name), name);
                  const entry = isJsonObject(item) ? item : {};
                  const stored = Object.hasOwn(entry, name) ? entry[name] : undefined;
                  const title = titleOf(member, name);
                  const change = (next: JsonValue) => onChange(items.with(index, { ...entry, [name]: next }));
                  return (
                    <td key={name}>
                      {stored === undefined ? (
                        <button
                          type="button"
                          className="button button-quiet"
                          aria-label={`Add ${title} to entry ${index + 1} of ${label}`}
                          onClick={() => change(emptyValue(memberSchema))}
                        >
                          Add
                        </button>
                      ) : (
                        <NestedEditor
                          value={stored}
                          schema={memberSchema}
                          label={`${label}, entry ${index + 1}: ${title}`}
                          problems={problemsWithin(problemsWithin(problems, String(index)), name)}
                          revealed={revealed}
                          onChange={change}
                        />
                      )}
                    </td>
                  );
                })}
                <td>
                  <button
                    type="button"
                    className="button button-quiet"
                    aria-label={`Remove entry ${index + 1} of ${label}`}
                    onClick={() => onChange(items.filter((_, other) => other !== index))}
                  >
                    Remove
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
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

function titleOf(schema: unknown, name: string): string {
  return isJsonObject(schema) && typeof schema["title"] === "string" ? schema["title"] : name;
}
