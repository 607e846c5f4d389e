import { useContext, useId } from "react";
import { isJsonObject, type JsonObject, type JsonValue, sameJson } from "../../shared/json.ts";
import { schemaOf } from "../../shared/scopes/masks.ts";
import { type EditorProps, NestedEditor, ownProblems, problemsWithin } from "./editor.tsx";
import { emptyInstead, emptyValue } from "./empty-value.ts";
import { hasNamedEntries, nameProblem, schemaOfEntry } from "./entry-names.ts";
import { NameForm } from "./name-form.tsx";
import { Problems } from "./problems.tsx";
import { partOf, SchemaRoot } from "./resolved-schema.ts";

/** Named members, each with the control for its schema. */
export function ObjectEditor({ value, schema, label, problems, revealed, onChange }: EditorProps) {
  const root = useContext(SchemaRoot);
  const id = useId();
  const members = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const object: JsonObject = isJsonObject(value) ? value : {};
  // Members that the schema does not list are shown too: a save stores them.
  const names = new Set([...Object.keys(members), ...Object.keys(object)]);
  // Problems of members that do not exist.
  const elsewhere = problems
    .filter(({ path: [part] }) => part !== undefined && !Object.hasOwn(object, part))
    .map(({ path, message }) => ({ path, message: `${path.join(".")}: ${message}` }));
  const schemaFor = (name: string) => partOf(root, schema, schemaOfEntry(schema, name), name);
  const change = (name: string, next: JsonValue) => {
    const before = value === null ? emptyInstead(schema, root) : value;
    onChange({ ...(isJsonObject(before) ? before : {}), [name]: next });
  };
  return (
    <div className="members">
      {Array.from(names, (name, index) => {
        const memberSchema = schemaFor(name);
        const { description, deprecated } = memberSchema;
        const there = Object.hasOwn(object, name);
        // It can have no other value: the form of the object says so.
        if (there && isConstant(memberSchema["const"], object[name])) return undefined;
        const title = schemaOf(members[name]).title ?? name;
        return (
          <div className="member" key={name}>
            <span className="member-name">
              {title}
              {deprecated === true && <span className="badge">deprecated</span>}
            </span>
            {there ? (
              <NestedEditor
                value={object[name] ?? null}
                schema={memberSchema}
                label={`${label}: ${title}`}
                describedBy={description === undefined ? undefined : `${id}-${index}`}
                problems={problemsWithin(problems, name)}
                revealed={revealed}
                onChange={next => change(name, next)}
              />
            ) : (
              <button
                type="button"
                className="button button-quiet"
                onClick={() => change(name, emptyValue(memberSchema, root))}
              >
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
            {description !== undefined && (
              <p className="hint member-about" id={`${id}-${index}`} title={description}>
                {description}
              </p>
            )}
          </div>
        );
      })}
      {hasNamedEntries(schema) && (
        <NameForm
          label={`Name of the new entry in ${label}`}
          initial=""
          taken={[...names]}
          check={name => nameProblem(schema, name)}
          done="Add"
          onName={name => change(name, emptyValue(schemaFor(name), root))}
        />
      )}
      <Problems problems={[...ownProblems(problems), ...elsewhere]} />
    </div>
  );
}

function isConstant(constant: unknown, value: JsonValue | undefined): boolean {
  return constant !== undefined && sameJson(constant, value);
}
