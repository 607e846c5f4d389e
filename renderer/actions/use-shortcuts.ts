import { useEffect } from "react";
import { screenStore } from "../state/store.ts";
import { actions } from "./actions.ts";
import { isText, pressedKeys } from "./keys.ts";

const byKeys = new Map(actions.flatMap(action => (action.keys ?? []).map(keys => [keys, action] as const)));
/** What a browser would do with these, save its page or search elsewhere, nobody means here. */
const neverTheBrowsers: ReadonlySet<string> = new Set(["Mod+S", "Mod+K"]);
/** The editor of a file saves the file, and begins a line. */
const fileEditorsOwn: ReadonlySet<string> = new Set(["Mod+S", "Mod+Enter"]);

/** The keys of the actions, wherever the focus is: not in a text where they write, nor behind a dialog. */
export function useShortcuts(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const keys = pressedKeys(event);
      const action = byKeys.get(keys);
      const { target } = event;
      // There is nothing to do them with once the session has ended.
      if (action === undefined || event.isComposing || screenStore.getState().connection === "ended") return;
      if (isText(target) && action.inText !== true) return;
      if (fileEditorsOwn.has(keys) && target instanceof Element && target.closest(".text-editor")) return;
      const isBehind = document.querySelector('[role="dialog"], [role="alertdialog"]') !== null;
      if (!isBehind || neverTheBrowsers.has(keys)) event.preventDefault();
      if (isBehind) return;
      event.stopPropagation();
      if (action.applies?.(screenStore.getState()) !== false) action.run();
    };
    // Before the controls: some take Enter for themselves, whatever is pressed with it.
    document.addEventListener("keydown", onKey, { capture: true });
    return () => document.removeEventListener("keydown", onKey, { capture: true });
  }, []);
}
