import type { RefObject } from "react";
import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { AddEntry } from "./add-entry.tsx";
import { type EditorProps, emptyValue, itemSchema, NestedEditor, ownProblems, problemsWithin } from "./editor.tsx";
import { useFocusAdded } from "./focus-added.ts";
import { Problems } from "./problems.tsx";

/** A table of entries with the same few members. If it is masked, names are shown but the other members are hidden. */
export function TableEditor({ value, schema, label, problems, revealed, onChange }: EditorProps) {
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [];
  const inner = itemSchema(schema) ?? {};
  const members = Object.entries(isJsonObject(inner["properties"]) ? inner["properties"] : {});
  const masked = schema["x-masked"] === true;
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
                  const hide = masked && name !== "name";
                  const memberSchema = (
                    isJsonObject(member) ? { ...member, ...(hide && { "x-masked": true }) } : {}
                  ) as ValueSchema;
                  const entry = isJsonObject(item) ? item : {};
                  return (
                    <td key={name}>
                      <NestedEditor
                        value={entry[name] ?? emptyValue(memberSchema)}
                        schema={memberSchema}
                        label={`${label}, entry ${index + 1}: ${titleOf(member, name)}`}
                        problems={problemsWithin(problemsWithin(problems, String(index)), name)}
                        revealed={revealed}
                        onChange={next => onChange(items.with(index, { ...entry, [name]: next }))}
                      />
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
