let known: number | undefined;

/** Pixels of a rem: people choose it in their browser. */
export function rootFontSize(): number {
  // Asking makes the browser work out the styles of the whole page, which is too much for each draw.
  known ??= Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return known;
}

function forget(): void {
  known = undefined;
}

// Zoomed, or back from the browser's settings.
window.addEventListener("resize", forget);
document.addEventListener("visibilitychange", forget);
