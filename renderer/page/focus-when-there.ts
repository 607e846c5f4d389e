/** Milliseconds to wait for an element to appear before giving up on focusing it. */
const longestWait = 3_000;

/** Focuses a field's control as soon as it exists: the repository may have to be read first. */
export function focusField(path: string): void {
  // The tools beside it show a value that is hidden, so has no control.
  focusWhenThere(`#${CSS.escape(`field-${path}`)} :is(.field-control, .field-tools) :is(input, textarea, button)`);
}

/** Focuses the first element that matches the selector as soon as one exists, from the next frame on. */
export function focusWhenThere(selector: string): void {
  const end = performance.now() + longestWait;
  const attempt = () => {
    const control = document.querySelector<HTMLElement>(selector);
    if (control) control.focus({ preventScroll: true });
    else if (performance.now() < end) requestAnimationFrame(attempt);
  };
  requestAnimationFrame(attempt);
}
