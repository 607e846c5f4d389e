/** A key combination such as `Mod+Shift+Z`, `F6`, `?`: Mod is Ctrl, or Command on a Mac. Letters are upper case. */
export type Keys = string;

const isMac = /Mac/.test(navigator.userAgent);
const names: Readonly<Record<string, string>> = {
  Mod: isMac ? "⌘" : "Ctrl",
  Alt: isMac ? "Option" : "Alt",
  PageUp: "Page Up",
  PageDown: "Page Down",
};

/** The pressed keys. Shift is left out if it only produces another character, as for `?`. */
export function pressedKeys(event: KeyboardEvent): Keys {
  const isLetter = /^\p{Letter}$/u.test(event.key);
  const isNamed = event.key.length > 1;
  const parts = [
    (isMac ? event.metaKey : event.ctrlKey) && "Mod",
    (isMac ? event.ctrlKey : event.metaKey) && "Other",
    event.altKey && "Alt",
    event.shiftKey && (isLetter || isNamed) && "Shift",
    isLetter ? event.key.toUpperCase() : event.key,
  ];
  return parts.filter(part => part !== false).join("+");
}

/** Keys as this machine's keyboard names them: `Ctrl Shift Z`. */
export function shownKeys(keys: Keys): string {
  return keys
    .split("+")
    .map(part => names[part] ?? part)
    .join(" ");
}

/** Whether keys pressed there are typed as text. */
export function isText(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
