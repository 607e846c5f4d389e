import { shell } from "./shell.ts";

/**
 * Opens what a person wants in a tab of its own (Ctrl, Shift or the middle button) with this window's session: a tab that the browser
 * opens by itself has none. `data-address` makes a link of what is none, such as a row of the tree.
 */
export function openTabsWithSession(): void {
  // The desktop app has one window.
  if (shell !== undefined) return;
  const follow = (event: MouseEvent) => {
    const isWanted = event.button === 1 || (event.button === 0 && (event.ctrlKey || event.metaKey || event.shiftKey));
    if (!isWanted || !(event.target instanceof Element)) return;
    const link = event.target.closest<HTMLElement>('a[href^="#"], [data-address]');
    const address = link?.dataset["address"] ?? link?.getAttribute("href");
    if (address == null) return;
    event.preventDefault();
    event.stopPropagation();
    window.open(address, "_blank");
  };
  // In the capture phase, before the tree's own clicks.
  document.addEventListener("click", follow, { capture: true });
  document.addEventListener("auxclick", follow, { capture: true });
}
