import { useContext, useEffect, useRef, useState } from "react";
import { isJsonObject, type JsonObject, type JsonValue, sameJson } from "../../shared/json.ts";
import { nameToSee } from "../parts/invisible.ts";
import { type EditorProps, NestedEditor, ownProblems, problemsWithin } from "./editor.tsx";
import { emptyValue } from "./empty-value.ts";
import { entryText, useEntryFilter } from "./entry-filter.tsx";
import { nameProblem, schemaOfEntry } from "./entry-names.ts";
import { NameForm } from "./name-form.tsx";
import { Problems } from "./problems.tsx";
import { partOf, SchemaRoot } from "./resolved-schema.ts";

/** A map with names that people choose: cards to add, rename and remove. */
export function MapEditor({ value, schema, label, problems, revealed, onChange }: EditorProps) {
  const object: JsonObject = isJsonObject(value) ? value : {};
  const root = useContext(SchemaRoot);
  const schemaFor = (name: string) => partOf(root, schema, schemaOfEntry(schema, name), name);
  const check = (name: string) => nameProblem(schema, name);
  const [order, setOrder] = useState<readonly string[]>(() => Object.keys(object));
  const names = inOrder(Object.keys(object), order);
  if (!sameJson(names, order)) setOrder(names);
  const filter = useEntryFilter(label, names, name => `${name}\n${entryText(object[name], schemaFor(name), revealed)}`);
  const [renaming, setRenaming] = useState<string>();
  /** A renamed entry gets a new card; the focus moves to it. */
  const [named, setNamed] = useState<string>();
  const container = useRef<HTMLDivElement>(null);
  const [added, setAdded] = useState<string>();
  // The focus moves to the added entry, to be filled in.
  useEffect(() => {
    if (added === undefined) return;
    const card = [...(container.current?.children ?? [])].findLast(child => child.matches(".card"));
    card?.querySelector<HTMLElement>(":scope > :not(header) :is(input, textarea, button)")?.focus();
    setAdded(undefined);
  }, [added]);
  return (
    <div className="cards" ref={container}>
      {filter.box}
      {names
        .filter(name => !filter.isHidden(name))
        .map(name => [name, nameToSee(name)] as const)
        .map(([name, shown]) => (
          <section className="card" key={name} aria-label={`${label}: ${shown}`}>
            <header className="card-head">
              {renaming === name ? (
                <NameForm
                  label={`New name for ${shown}`}
                  initial={name}
                  taken={Object.keys(object).filter(other => other !== name)}
                  check={check}
                  done="Rename"
                  onName={(next, isLeft) => {
                    setRenaming(undefined);
                    setNamed(isLeft ? undefined : next);
                    setOrder(names.map(one => (one === name ? next : one)));
                    onChange(renamed(object, name, next), { from: name, to: next });
                  }}
                  onCancel={() => {
                    setRenaming(undefined);
                    setNamed(name);
                  }}
                />
              ) : (
                <>
                  <h4>{shown}</h4>
                  <button
                    type="button"
                    className="button button-quiet"
                    // biome-ignore lint/a11y/noAutofocus: the person has just renamed this.
                    autoFocus={name === named}
                    onClick={() => setRenaming(name)}
                  >
                    Rename<span className="visually-hidden"> {shown}</span>
                  </button>
                  <button
                    type="button"
                    className="button button-quiet"
                    onClick={() => {
                      const { [name]: _, ...rest } = object;
                      onChange(rest);
                    }}
                  >
                    Remove<span className="visually-hidden"> {shown}</span>
                  </button>
                </>
              )}
            </header>
            <NestedEditor
              value={object[name] ?? null}
              schema={schemaFor(name)}
              label={`${label}: ${shown}`}
              problems={problemsWithin(problems, name)}
              revealed={revealed}
              onChange={next => onChange({ ...object, [name]: next })}
            />
          </section>
        ))}
      <NameForm
        label={`Name of the new entry in ${label}`}
        initial=""
        taken={Object.keys(object)}
        check={check}
        done="Add"
        onName={(name, isLeft) => {
          onChange({ ...object, [name]: emptyValue(schemaFor(name), root) });
          if (!isLeft) setAdded(name);
        }}
      />
      <Problems problems={ownProblems(problems)} />
    </div>
  );
}

/** Names as they were shown: objects have names like "1" first, but no card jumps to the front because it is renamed. */
function inOrder(names: readonly string[], shown: readonly string[]): readonly string[] {
  const [there, before] = [new Set(names), new Set(shown)];
  return [...shown.filter(name => there.has(name)), ...names.filter(name => !before.has(name))];
}

/** The same object with one member renamed in place. */
function renamed(object: JsonObject, name: string, next: string): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]): [string, JsonValue] => [key === name ? next : key, value]),
  );
}
