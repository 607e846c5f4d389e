import { type RefObject, useEffect, useRef } from "react";

/** After `added()`, moves the focus to the first control of the container's last entry, to be filled in. */
export function useFocusAdded(count: number): { readonly container: RefObject<HTMLElement | null>; added(): void } {
  const container = useRef<HTMLElement>(null);
  const wanted = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the entry is there once there is one more.
  useEffect(() => {
    if (!wanted.current) return;
    wanted.current = false;
    container.current?.lastElementChild?.querySelector<HTMLElement>("input, textarea, button, [role=switch]")?.focus();
  }, [count]);
  return {
    container,
    added: () => {
      wanted.current = true;
    },
  };
}
