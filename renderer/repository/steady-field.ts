import { type RefObject, useEffect } from "react";

/**
 * Keeps the focused field at its place in the window when rows above it grow or shrink. The browser's own scroll anchoring keeps
 * the first visible element in place, which may be the one that grew.
 */
export function useSteadyField(container: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const element = container.current;
    const scroller = element?.closest("main");
    if (!element || !scroller) return;
    let field: Element | null = null;
    let top = 0;
    const remember = () => {
      const { activeElement } = document;
      field = activeElement !== null && element.contains(activeElement) ? activeElement.closest(".field") : null;
      top = field?.getBoundingClientRect().top ?? 0;
      scroller.style.overflowAnchor = field === null ? "auto" : "none";
    };
    const observer = new ResizeObserver(() => {
      const moved = field?.isConnected ? field.getBoundingClientRect().top - top : 0;
      if (Math.abs(moved) >= 1) scroller.scrollTop += moved;
      remember();
    });
    observer.observe(element);
    element.addEventListener("focusin", remember);
    element.addEventListener("focusout", remember);
    scroller.addEventListener("scroll", remember, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("focusin", remember);
      element.removeEventListener("focusout", remember);
      scroller.removeEventListener("scroll", remember);
    };
  }, [container]);
}
