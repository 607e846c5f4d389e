/** Milliseconds to wait for an element to appear before giving up on focusing it. */
const longestWait = 3_000;

/** Focuses a field's control as soon as it exists: the repository may have to be read first. */
export function focusField(path: string): void {
  // The tools beside it show a value that is hidden, so has no control.
  focusWhenThere(`#${CSS.escape(`field-${path}`)} :is(.field-control, .field-tools) :is(input, textarea, button)`);
}

/**
 * Focuses the first element that matches the selector as soon as one exists, from the next frame on; without one, the first that matches
 * `otherwise`. With `otherwise`, a text in it is selected, to be replaced.
 */
export function focusWhenThere(selector: string, otherwise?: string): void {
  const end = performance.now() + longestWait;
  const find = (one: string) => document.querySelector<HTMLElement>(one);
  const attempt = () => {
    const control = find(selector) ?? (otherwise === undefined ? undefined : find(otherwise));
    if (control) {
      control.focus({ preventScroll: true });
      if (otherwise === undefined) return;
      control.scrollIntoView({ block: "nearest" });
      if (control instanceof HTMLInputElement || control instanceof HTMLTextAreaElement) control.select();
    } else if (performance.now() < end) requestAnimationFrame(attempt);
  };
  requestAnimationFrame(attempt);
}
