/** Control characters, bidirectional controls, and the line separators that some terminals obey. */
const terminalControls = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** Escapes every character that a terminal would obey, as in JSON: `\n`, `\u001b`, `\u202e`. */
export function visible(text: string): string {
  return text.replace(terminalControls, character => {
    const written = JSON.stringify(character).slice(1, -1);
    return written === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}` : written;
  });
}
