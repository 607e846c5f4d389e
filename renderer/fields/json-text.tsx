import { useId } from "react";
import type { JsonValue } from "../../shared/json.ts";
import { useEditedText } from "./edited-text.ts";
import { type EditorProps, ownProblems } from "./editor.tsx";
import { Problems } from "./problems.tsx";

/** An editor for values without a control of their own: the value as JSON. */
export function JsonText({ value, label, describedBy, problems, onChange }: EditorProps) {
  const [text, setText] = useEditedText(value, parse, print);
  const problemId = useId();
  const readable = parse(text) !== undefined;
  const shown = readable ? ownProblems(problems) : [{ path: [], message: "This is not valid JSON yet." }];
  return (
    <div className="editor-text">
      <textarea
        className="input input-path"
        aria-label={label}
        aria-describedby={[describedBy, shown.length > 0 && problemId].filter(Boolean).join(" ") || undefined}
        aria-invalid={shown.length > 0}
        spellCheck={false}
        rows={Math.min(14, text.split("\n").length)}
        value={text}
        onChange={event => {
          setText(event.target.value);
          const next = parse(event.target.value);
          if (next !== undefined) onChange(next);
        }}
      />
      <Problems id={problemId} problems={shown} />
    </div>
  );
}

const print = (value: JsonValue) => JSON.stringify(value, null, 2);

function parse(text: string): JsonValue | undefined {
  try {
    // JSON.parse only returns JSON values.
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
