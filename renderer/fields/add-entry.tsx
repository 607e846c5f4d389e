import { type RefObject, useEffect, useRef } from "react";

interface AddEntryProps {
  /** What the entry is added to. */
  readonly label: string;
  onPress(): void;
}

/** The button at the end of a list. */
export function AddEntry({ label, onPress }: AddEntryProps) {
  return (
    <button type="button" className="button" onClick={onPress}>
      Add an entry<span className="visually-hidden"> to {label}</span>
    </button>
  );
}

const controls = "input, textarea, button, [role=switch]";

/** Focuses the first control of an entry, or of a member. The header of a card has buttons too. */
export function focusFirst(entry: Element | null | undefined): void {
  const first = entry?.querySelector<HTMLElement>(`:scope > :not(header) :is(${controls})`);
  (first ?? entry?.querySelector<HTMLElement>(controls))?.focus();
}

/** After `added()`, moves the focus to the first control of the container's last entry, to be filled in. */
export function useFocusAdded(count: number): { readonly container: RefObject<HTMLElement | null>; added(): void } {
  const container = useRef<HTMLElement>(null);
  const wanted = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the entry is there once there is one more.
  useEffect(() => {
    if (!wanted.current) return;
    wanted.current = false;
    focusFirst(container.current?.lastElementChild);
  }, [count]);
  return {
    container,
    added: () => {
      wanted.current = true;
    },
  };
}
