import { useState } from "react";
import { type JsonValue, sameJson } from "../../shared/json.ts";

/**
 * The text of a control that shows a value, and how typing replaces it. What was typed is kept ("1e" on its way to "1e3") until
 * another value arrives, whose text replaces it in the same render: an effect would do it one frame after the rest of the page.
 */
export function useEditedText(
  value: JsonValue,
  parse: (text: string) => JsonValue | undefined,
  print: (value: JsonValue) => string,
): readonly [text: string, type: (text: string) => void] {
  const [shown, setShown] = useState(() => ({ value, text: print(value) }));
  const type = (text: string) => setShown({ value, text });
  if (sameJson(shown.value, value)) return [shown.text, type];
  const text = sameJson(parse(shown.text), value) ? shown.text : print(value);
  setShown({ value, text });
  return [text, type];
}
