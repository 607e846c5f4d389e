import { useState } from "react";
import { type JsonValue, sameJson } from "../../shared/json.ts";
import { textOfUnread, unreadText } from "../state/unread-text.ts";
import type { ReadText } from "./read-text.ts";

interface EditedText {
  readonly text: string;
  /** Why the text is not a value, and the next step. */
  readonly problem: string | undefined;
  type(text: string): void;
}

/**
 * The text of a control that shows a value, and how typing replaces it. What was typed is kept ("1e3") until another value arrives,
 * whose text replaces it in the same render: an effect would do it one frame after the rest of the page. A text that is not a value
 * is passed on as such.
 */
export function useEditedText(
  value: JsonValue,
  read: (text: string) => ReadText,
  print: (value: JsonValue) => string,
  onChange: (value: JsonValue) => void,
): EditedText {
  const printed = (shown: JsonValue) => textOfUnread(shown) ?? print(shown);
  const [shown, setShown] = useState(() => ({ value, text: printed(value) }));
  const meaning = (text: string) => {
    const result = read(text);
    return "value" in result ? result.value : unreadText(text);
  };
  let { text } = shown;
  if (!sameJson(shown.value, value)) {
    if (!sameJson(meaning(text), value)) text = printed(value);
    setShown({ value, text });
  }
  const result = read(text);
  return {
    text,
    problem: "problem" in result ? result.problem : undefined,
    type: next => {
      setShown({ value, text: next });
      onChange(meaning(next));
    },
  };
}
