import { isJsonObject, type JsonObject } from "../../shared/json.ts";
import { maskedWithin, schemaOfMember } from "../../shared/scopes/masks.ts";
import { type EditorProps, emptyValue, NestedEditor, ownProblems, problemsWithin } from "./editor.tsx";
import { Problems } from "./problems.tsx";

/** Named members, each with the control for its schema. */
export function ObjectEditor({ value, schema, label, problems, revealed, onChange }: EditorProps) {
  const members = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const object: JsonObject = isJsonObject(value) ? value : {};
  // Members that the schema does not list are shown too: a save stores them.
  const names = new Set([...Object.keys(members), ...Object.keys(object)]);
  // Problems of members that do not exist.
  const elsewhere = problems
    .filter(({ path: [part] }) => part !== undefined && !Object.hasOwn(object, part))
    .map(({ path, message }) => ({ path, message: `${path.join(".")}: ${message}` }));
  return (
    <div className="members">
      {Array.from(names, name => {
        const memberSchema = maskedWithin(schema, schemaOfMember(schema, name), name);
        const there = Object.hasOwn(object, name);
        const title = memberSchema.title ?? name;
        const change = (next: JsonObject[string]) => onChange({ ...object, [name]: next });
        return (
          <div className="member" key={name}>
            <span className="member-name" title={memberSchema.description}>
              {title}
            </span>
            {there ? (
              <NestedEditor
                value={object[name] ?? null}
                schema={memberSchema}
                label={`${label}: ${title}`}
                problems={problemsWithin(problems, name)}
                revealed={revealed}
                onChange={change}
              />
            ) : (
              <button type="button" className="button button-quiet" onClick={() => change(emptyValue(memberSchema))}>
                Add {title}
              </button>
            )}
            {there && !required.includes(name) && (
              <button
                type="button"
                className="button button-quiet"
                aria-label={`Remove ${title} of ${label}`}
                onClick={() => {
                  const { [name]: _, ...rest } = object;
                  onChange(rest);
                }}
              >
                Remove
              </button>
            )}
          </div>
        );
      })}
      <Problems problems={[...ownProblems(problems), ...elsewhere]} />
    </div>
  );
}
