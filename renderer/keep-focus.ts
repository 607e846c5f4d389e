const focusable =
  'a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, [tabindex="0"], [tabindex="-1"]';

interface Ancestor {
  readonly element: Element;
  /** Where among its children the one was that led to the focus. */
  readonly index: number;
}

/**
 * Focus never falls to the page: where what had it is taken away (a removed entry, a button that has done its work), what
 * is nearest gets it, and a person at the keyboard goes on from there.
 */
export function keepFocus(): void {
  let focused: Element | undefined;
  let ancestors: readonly Ancestor[] = [];
  document.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof Element)) return;
    focused = target;
    ancestors = ancestorsOf(target);
  });
  const look = () => {
    if (focused === undefined || (focused.isConnected && !focused.matches(":disabled"))) return;
    // What opens or closes a dialog moves the focus itself, a moment later.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        const active = document.activeElement;
        if (active !== null && active !== document.body && !active.matches(":disabled")) return;
        nearest(ancestors)?.focus({ preventScroll: true });
      }),
    );
  };
  new MutationObserver(look).observe(document.body, {
    subtree: true,
    childList: true,
    attributeFilter: ["disabled"],
  });
}

function ancestorsOf(element: Element): Ancestor[] {
  const result: Ancestor[] = [];
  let child = element;
  for (let parent = child.parentElement; parent !== null; parent = parent.parentElement) {
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
