import { type RefObject, useLayoutEffect } from "react";

/** How far down each page was, by its key, in pixels. */
const places = new Map<string, number>();

/** A page that one returns to keeps its scroll position; a new one begins at the top. */
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
