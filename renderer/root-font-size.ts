let known: number | undefined;

/** Pixels per rem, which people can set in their browser. */
export function rootFontSize(): number {
  // Reading it makes the browser compute the styles of the whole page, too slow to repeat for each render.
  known ??= Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return known;
}

function forget(): void {
  known = undefined;
}

// The page was zoomed, or the browser's settings may have changed.
window.addEventListener("resize", forget);
document.addEventListener("visibilitychange", forget);
