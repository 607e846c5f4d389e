import { useContext, useEffect, useId, useRef } from "react";
import { isJsonObject, type JsonObject, type JsonValue, sameJson } from "../../shared/json.ts";
import { schemaOf } from "../../shared/scopes/masks.ts";
import { nameToSee } from "../parts/invisible.ts";
import { focusFirst } from "./add-entry.tsx";
import { type EditorProps, NestedEditor, ownProblems, problemsWithin } from "./editor.tsx";
import { emptyInstead, emptyValue } from "./empty-value.ts";
import { hasNamedEntries, nameProblem, schemaOfEntry } from "./entry-names.ts";
import { NameForm } from "./name-form.tsx";
import { Problems } from "./problems.tsx";
import { partOf, SchemaRoot } from "./resolved-schema.ts";

/** Named members, each with the control for its schema, and a button for each that is not there. */
export function ObjectEditor({ value, schema, label, problems, revealed, onChange }: EditorProps) {
  const root = useContext(SchemaRoot);
  const id = useId();
  const members = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const object: JsonObject = isJsonObject(value) ? value : {};
  // Members that the schema does not list are shown too: a save stores them.
  const names = [...new Set([...Object.keys(members), ...Object.keys(object)])];
  const absent = names.filter(name => !Object.hasOwn(object, name));
  // Problems of members that do not exist.
  const elsewhere = problems
    .filter(({ path: [part] }) => part !== undefined && !Object.hasOwn(object, part))
    .map(({ path, message }) => ({ path, message: `${path.map(nameToSee).join(".")}: ${message}` }));
  const schemaFor = (name: string) => partOf(root, schema, schemaOfEntry(schema, name), name);
  const titleOf = (name: string) => schemaOf(members[name]).title ?? nameToSee(name);
  const container = useRef<HTMLDivElement>(null);
  const added = useRef<string>(undefined);
  // The focus moves to the added member, to be filled in.
  useEffect(() => {
    if (added.current === undefined) return;
    focusFirst(container.current?.querySelector(`:scope > [data-member="${CSS.escape(added.current)}"]`));
    added.current = undefined;
  });
  const change = (name: string, next: JsonValue) => {
    const before = value === null ? emptyInstead(schema, root) : value;
    onChange({ ...(isJsonObject(before) ? before : {}), [name]: next });
  };
  const add = (name: string, isLeft = false) => {
    if (!isLeft) added.current = name;
    change(name, emptyValue(schemaFor(name), root));
  };
  return (
    <div className="members" ref={container}>
      {names.map((name, index) => {
        if (!Object.hasOwn(object, name)) return undefined;
        const memberSchema = schemaFor(name);
        const { description, deprecated } = memberSchema;
        // It can have no other value: the form of the object says so.
        if (isConstant(memberSchema["const"], object[name])) return undefined;
        const title = titleOf(name);
        return (
          <div className="member" key={name} data-member={name}>
            <span className="member-name">
              {title}
              {deprecated === true && <span className="badge">deprecated</span>}
            </span>
            <NestedEditor
              value={object[name] ?? null}
              schema={memberSchema}
              label={`${label}: ${title}`}
              describedBy={description === undefined ? undefined : `${id}-${index}`}
              problems={problemsWithin(problems, name)}
              revealed={revealed}
              onChange={next => change(name, next)}
            />
            {!required.includes(name) && (
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
      {absent.length > 0 && (
        <div className="members-absent">
          {absent.map(name => (
            <button
              type="button"
              className="button button-quiet"
              key={name}
              title={schemaFor(name).description}
              onClick={() => add(name)}
            >
              Add {titleOf(name)}
            </button>
          ))}
        </div>
      )}
      {hasNamedEntries(schema) && (
        <NameForm
          label={`Name of the new entry in ${label}`}
          initial=""
          taken={names}
          check={name => nameProblem(schema, name)}
          done="Add"
          onName={add}
        />
      )}
      <Problems problems={[...ownProblems(problems), ...elsewhere]} />
    </div>
  );
}

function isConstant(constant: unknown, value: JsonValue | undefined): boolean {
  return constant !== undefined && sameJson(constant, value);
}
