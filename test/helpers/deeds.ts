/** Counts the person's mouse presses and key presses in `window.deeds`. Runs in the page before its own script. */
export const countDeeds = `window.deeds = { clicks: 0, keys: 0 };
addEventListener("pointerdown", () => { window.deeds.clicks += 1; }, true);
addEventListener("keydown", () => { window.deeds.keys += 1; }, true);`;
