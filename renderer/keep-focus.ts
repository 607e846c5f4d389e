const focusable = 'a[href], button, input:enabled, select, textarea, [tabindex="0"], [tabindex="-1"]';

interface Ancestor {
  readonly element: Element;
  /** Where among its children the one was that led to the focus. */
  readonly index: number;
}

/**
 * The focus never falls back to the page: if the element that has it is removed (a removed entry, a button that is done), the nearest
 * one gets it at once, so that a person at the keyboard can continue there.
 */
export function keepFocus(root: Element): void {
  let focused: Element | undefined;
  let ancestors: readonly Ancestor[] = [];
  /** Those of what had the focus last outside of dialogs and lists, which stand beside the root. */
  let inRoot: readonly Ancestor[] = [];
  document.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof Element)) return;
    focused = target;
    ancestors = ancestorsOf(target);
    if (root.contains(target)) inRoot = ancestors;
  });
  const repair = () => {
    if (document.activeElement === null || document.activeElement === document.body)
      nearest([...ancestors, ...inRoot])?.focus({ preventScroll: true });
  };
  new MutationObserver(() => {
    if (focused === undefined || focused.isConnected) return;
    // What closes as a whole hands the focus back itself, a frame later.
    if (ancestors.at(-1)?.element.isConnected) repair();
    else requestAnimationFrame(() => requestAnimationFrame(repair));
  }).observe(document.body, { subtree: true, childList: true });
}

/** From the element's parent up to what stands in the body. */
function ancestorsOf(element: Element): Ancestor[] {
  const result: Ancestor[] = [];
  let child = element;
  for (let parent = child.parentElement; parent !== null && parent !== document.body; parent = parent.parentElement) {
    result.push({ element: parent, index: [...parent.children].indexOf(child) });
    child = parent;
  }
  return result;
}

function nearest(ancestors: readonly Ancestor[]): HTMLElement | undefined {
  for (const { element, index } of ancestors) {
    if (!element.isConnected) continue;
    const children = [...element.children];
    // What stands in its place now, else what stood before it.
    for (const child of [...children.slice(index), ...children.slice(0, index).toReversed()]) {
      const found = child.matches(focusable) ? child : child.querySelector(focusable);
      if (found instanceof HTMLElement) return found;
    }
    if (element instanceof HTMLElement && element.matches(focusable)) return element;
  }
  return undefined;
}
