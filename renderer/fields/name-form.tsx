import { type FormEvent, useEffect, useRef, useState } from "react";
import { pressedKeys } from "../actions/keys.ts";
import { Button } from "../parts/button.tsx";
import { UnseenNote } from "./unseen-note.tsx";

interface NameFormProps {
  readonly label: string;
  readonly initial: string;
  readonly taken: readonly string[];
  /** Why a name cannot be used; undefined: it can. */
  check(name: string): string | undefined;
  readonly done: string;
  /** `isLeft`: the person has gone on to something else, and the focus stays there. */
  onName(name: string, isLeft: boolean): void;
  onCancel?(): void;
}

/** A name counts when it is entered, and when the person leaves it: whatever they do next, a save too, knows it. */
export function NameForm({ label, initial, taken, check, done, onName, onCancel }: NameFormProps) {
  const [name, setName] = useState(initial);
  const isCancelled = useRef(false);
  const form = useRef<HTMLFormElement>(null);
  const trimmed = name.trim();
  const found = taken.includes(trimmed) ? "This name already exists." : check(trimmed);
  const problem = trimmed === "" ? undefined : found;
  const isUsable = trimmed !== "" && problem === undefined;
  const submit = (isLeft: boolean) => {
    if (!isUsable) return;
    // Left as it is, a name keeps its spaces at the ends.
    if (name === initial) return onCancel?.();
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
      <UnseenNote text={name} label={label} onChange={setName} />
      {problem !== undefined && <span className="problem">{problem}</span>}
    </form>
  );
}
