/** Counts the person's mouse presses and key presses in `window.actions`. Runs in the page before its own script. */
export const countActions = `window.actions = { clicks: 0, keys: 0 };
addEventListener("pointerdown", () => { window.actions.clicks += 1; }, true);
addEventListener("keydown", () => { window.actions.keys += 1; }, true);`;
