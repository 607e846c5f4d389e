import { type RefObject, useLayoutEffect } from "react";

/** How far down each page was, by its key, in pixels. */
const places = new Map<string, number>();

/** A page that one comes back to is where it was; one that is new begins at its top. */
export function useScrollPlace(container: RefObject<HTMLElement | null>, key: string): void {
  useLayoutEffect(() => {
    const scroller = container.current?.closest("main");
    if (!scroller) return;
    scroller.scrollTop = places.get(key) ?? 0;
    const remember = () => places.set(key, scroller.scrollTop);
    scroller.addEventListener("scroll", remember, { passive: true });
    return () => scroller.removeEventListener("scroll", remember);
  }, [container, key]);
}
