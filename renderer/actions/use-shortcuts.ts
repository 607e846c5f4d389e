import { useEffect } from "react";
import { screenStore } from "../state/store.ts";
import { actions } from "./actions.ts";
import { isText, pressedKeys } from "./keys.ts";

const byKeys = new Map(actions.flatMap(action => (action.keys ?? []).map(keys => [keys, action] as const)));
/** Keys with which the browser would save the page or open its own search. */
const neverTheBrowsers: ReadonlySet<string> = new Set(["Mod+S", "Mod+K"]);
/** Keys that the editor of a file uses to save the file and to start a line. */
const fileEditorsOwn: ReadonlySet<string> = new Set(["Mod+S", "Mod+Enter"]);

/** Runs actions by their shortcuts, wherever the focus is, except where the keys type text and behind a dialog. */
export function useShortcuts(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const keys = pressedKeys(event);
      const action = byKeys.get(keys);
      const { target } = event;
      // No action is possible once the session has ended.
      if (action === undefined || event.isComposing || screenStore.getState().connection === "ended") return;
      if (isText(target) && action.inText !== true) return;
      if (fileEditorsOwn.has(keys) && target instanceof Element && target.closest(".text-editor")) return;
      const isBehind = document.querySelector('[role="dialog"], [role="alertdialog"]') !== null;
      if (!isBehind || neverTheBrowsers.has(keys)) event.preventDefault();
      if (isBehind) return;
      event.stopPropagation();
      if (action.applies?.(screenStore.getState()) !== false) action.run();
    };
    // In the capture phase: some controls would consume Enter, whatever modifier is pressed with it.
    document.addEventListener("keydown", onKey, { capture: true });
    return () => document.removeEventListener("keydown", onKey, { capture: true });
  }, []);
}
