/** Milliseconds after which what is not there yet no longer gets the focus. */
const longestWait = 3_000;

/** Focuses a field's control as soon as it exists: the repository may have to be read first. */
export function focusField(path: string): void {
  focusWhenThere(`#${CSS.escape(`field-${path}`)} .field-control :is(input, textarea, button)`);
}

/** Moves the focus to the first element of the selector, from the next frame on as soon as there is one. */
export function focusWhenThere(selector: string): void {
  const end = performance.now() + longestWait;
  const attempt = () => {
    const control = document.querySelector<HTMLElement>(selector);
    if (control) control.focus({ preventScroll: true });
    else if (performance.now() < end) requestAnimationFrame(attempt);
  };
  requestAnimationFrame(attempt);
}
