const focusable = 'a[href], button, input:enabled, select, textarea, [tabindex="0"], [tabindex="-1"]';

interface Ancestor {
  readonly element: Element;
  /** The index of the child that contains the focus. */
  readonly index: number;
}

/**
 * Keeps the focus from falling back to the page: if the focused element is removed (a removed entry, a finished button), the
 * nearest focusable element gets the focus at once, so that a keyboard user can continue there.
 */
export function keepFocus(root: Element): void {
  let focused: Element | undefined;
  let ancestors: readonly Ancestor[] = [];
  /** The ancestors of the last focused element outside dialogs and lists, which are rendered beside the root. */
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
    // A dialog or list that closes as a whole returns the focus itself, one frame later.
    if (ancestors.at(-1)?.element.isConnected) repair();
    else requestAnimationFrame(() => requestAnimationFrame(repair));
  }).observe(document.body, { subtree: true, childList: true });
}

/** From the element's parent up to the child of the body. */
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
    // First what has taken its place, then what preceded it.
    for (const child of [...children.slice(index), ...children.slice(0, index).toReversed()]) {
      const inside = child.matches(focusable) ? [child] : [...child.querySelectorAll(focusable)];
      // A message's button, such as Undo, would be pressed by the next key.
      const found = inside.find(one => one.closest('[role="log"]') === null);
      if (found instanceof HTMLElement) return found;
    }
    if (element instanceof HTMLElement && element.matches(focusable)) return element;
  }
  return undefined;
}
