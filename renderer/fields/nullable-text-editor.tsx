import { useState } from "react";
import type { EditorProps } from "./editor.tsx";
import { TextEditor } from "./text-editor.tsx";

/** A text, or none: null. Without the check mark, an empty text is a text. */
export function NullableTextEditor(props: EditorProps) {
  const { value, label, onChange } = props;
  /** The text that "none" replaced, for those who change their mind. */
  const [before, setBefore] = useState("");
  return (
    <div className="editor-nullable">
      <TextEditor {...props} />
      <label className="check">
        <input
          type="checkbox"
          checked={value === null}
          onChange={event => {
            if (typeof value === "string") setBefore(value);
            onChange(event.target.checked ? null : before);
          }}
        />
        <span>
          <span className="visually-hidden">{label}: </span>none
        </span>
      </label>
    </div>
  );
}
