import { type RefObject, useLayoutEffect } from "react";

/** How far each page is scrolled down, by its key, in pixels. */
const places = new Map<string, number>();

/** Restores a page's scroll position on return; a new page starts at the top. */
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
