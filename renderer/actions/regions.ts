/** Where the focus enters a region, in this order: the current row of the tree, the field of the address, the first control. */
const entrances = [
  '[role="treeitem"][tabindex="0"]',
  '.field[aria-current="true"] :is(.field-control, .field-tools) :is(input, textarea, button)',
  'a[href], button, input:enabled, select, textarea, [tabindex="0"], [contenteditable="true"]',
];
/** The element that had the focus when the person last left the region. */
const left = new WeakMap<Element, HTMLElement>();

/** Moves the focus to the next or previous visible region, to the element that last had the focus there. */
export function goRound(step: 1 | -1): void {
  const now = document.activeElement;
  const current = regionOf(now);
  const regions = [...document.querySelectorAll<HTMLElement>("[data-region]")].filter(
    region => region === current || entranceOf(region) !== undefined,
  );
  if (current !== null && now instanceof HTMLElement) left.set(current, now);
  const index = current === null ? -1 : regions.indexOf(current);
  // Without a current region, forward starts at the first and backward at the last.
  const next = regions.at(index === -1 && step === -1 ? -1 : (index + step) % regions.length);
  if (next !== undefined && next !== current) entranceOf(next)?.focus();
}

/** Regions can be nested; controls of the inner one do not belong to the outer one. */
function regionOf(element: Element | null): HTMLElement | null {
  return element?.closest<HTMLElement>("[data-region]") ?? null;
}

function entranceOf(region: HTMLElement): HTMLElement | undefined {
  const isIn = (element: HTMLElement) => regionOf(element) === region && element.checkVisibility();
  const before = left.get(region);
  if (before?.isConnected && isIn(before)) return before;
  for (const selector of entrances) {
    const found = [...region.querySelectorAll<HTMLElement>(selector)].find(isIn);
    if (found !== undefined) return found;
  }
  return region.tabIndex === -1 && region.hasAttribute("tabindex") && region.checkVisibility() ? region : undefined;
}
