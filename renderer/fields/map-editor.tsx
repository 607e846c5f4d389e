import { type FormEvent, useEffect, useRef, useState } from "react";
import { isJsonObject, type JsonObject, type JsonValue, sameJson } from "../../shared/json.ts";
import { maskedWithin } from "../../shared/scopes/masks.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { pressedKeys } from "../actions/keys.ts";
import { Button } from "../button.tsx";
import { type EditorProps, emptyValue, NestedEditor, ownProblems, problemsWithin } from "./editor.tsx";
import { Problems } from "./problems.tsx";

/** A map with names that people choose: cards to add, rename and remove. */
export function MapEditor({ value, schema, label, problems, revealed, onChange }: EditorProps) {
  const object: JsonObject = isJsonObject(value) ? value : {};
  const inner = (isJsonObject(schema["additionalProperties"]) ? schema["additionalProperties"] : {}) as ValueSchema;
  const [order, setOrder] = useState<readonly string[]>(() => Object.keys(object));
  const names = inOrder(Object.keys(object), order);
  if (!sameJson(names, order)) setOrder(names);
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
      {names.map(name => (
        <section className="card" key={name} aria-label={`${label}: ${name}`}>
          <header className="card-head">
            {renaming === name ? (
              <NameForm
                label={`New name for ${name}`}
                initial={name}
                taken={Object.keys(object).filter(other => other !== name)}
                done="Rename"
                onName={(next, isLeft) => {
                  setRenaming(undefined);
                  setNamed(isLeft ? undefined : next);
                  setOrder(names.map(one => (one === name ? next : one)));
                  onChange(renamed(object, name, next));
                }}
                onCancel={() => {
                  setRenaming(undefined);
                  setNamed(name);
                }}
              />
            ) : (
              <>
                <h4>{name}</h4>
                <button
                  type="button"
                  className="button button-quiet"
                  // biome-ignore lint/a11y/noAutofocus: the person has just renamed this.
                  autoFocus={name === named}
                  onClick={() => setRenaming(name)}
                >
                  Rename<span className="visually-hidden"> {name}</span>
                </button>
                <button
                  type="button"
                  className="button button-quiet"
                  onClick={() => {
                    const { [name]: _, ...rest } = object;
                    onChange(rest);
                  }}
                >
                  Remove<span className="visually-hidden"> {name}</span>
                </button>
              </>
            )}
          </header>
          <NestedEditor
            value={object[name] ?? null}
            schema={maskedWithin(schema, inner, name)}
            label={`${label}: ${name}`}
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
        done="Add"
        onName={(name, isLeft) => {
          onChange({ ...object, [name]: emptyValue(inner) });
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

interface NameFormProps {
  readonly label: string;
  readonly initial: string;
  readonly taken: readonly string[];
  readonly done: string;
  /** `isLeft`: the person has gone on to something else, and the focus stays there. */
  onName(name: string, isLeft: boolean): void;
  onCancel?(): void;
}

/** A name counts when it is entered, and when the person leaves it: whatever they do next, a save too, knows it. */
function NameForm({ label, initial, taken, done, onName, onCancel }: NameFormProps) {
  const [name, setName] = useState(initial);
  const isCancelled = useRef(false);
  const form = useRef<HTMLFormElement>(null);
  const trimmed = name.trim();
  const problem = taken.includes(trimmed) ? "This name already exists." : undefined;
  const isUsable = trimmed !== "" && problem === undefined;
  const submit = (isLeft: boolean) => {
    if (!isUsable) return;
    onName(trimmed, isLeft);
    setName("");
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isIn = event.target instanceof Element && event.target.closest("form") === form.current;
      if (isIn && ["Mod+S", "Mod+Enter"].includes(pressedKeys(event))) submit(true);
    };
    // Before the document's shortcuts: they save what is known.
    window.addEventListener("keydown", onKey, { capture: true });
    return () => window.removeEventListener("keydown", onKey, { capture: true });
  });
  return (
    <form
      ref={form}
      className="name-form"
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        submit(false);
      }}
      onBlur={event => {
        // Another window in front leaves the focus where it is.
        const isIn = [event.relatedTarget, document.activeElement].some(one => event.currentTarget.contains(one));
        if (!isIn && !isCancelled.current) submit(true);
      }}
    >
      <input
        className="input"
        aria-label={label}
        aria-invalid={problem !== undefined}
        placeholder="name"
        spellCheck={false}
        // biome-ignore lint/a11y/noAutofocus: the person has just asked to rename this.
        autoFocus={onCancel !== undefined}
        value={name}
        onChange={event => setName(event.target.value)}
        onKeyDown={event => {
          // Within a composition, Escape ends that.
          if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
          isCancelled.current = onCancel !== undefined;
          setName(initial);
          onCancel?.();
        }}
      />
      <Button type="submit" className="button" unavailable={!isUsable}>
        {done}
      </Button>
      {onCancel !== undefined && (
        <button type="button" className="button button-quiet" onClick={onCancel}>
          Cancel
        </button>
      )}
      {problem !== undefined && <span className="problem">{problem}</span>}
    </form>
  );
}
