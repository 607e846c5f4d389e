import { useId } from "react";
import type { JsonValue } from "../../shared/json.ts";
import { useEditedText } from "./edited-text.ts";
import { type EditorProps, ownProblems } from "./editor.tsx";
import { Problems } from "./problems.tsx";
import { readJson } from "./read-text.ts";

/** An editor for values without a control of their own: the value as JSON. */
export function JsonText({ value, label, describedBy, problems, onChange }: EditorProps) {
  const { text, problem, type } = useEditedText(value, readJson, print, onChange);
  const problemId = useId();
  const shown = problem === undefined ? ownProblems(problems) : [{ path: [], message: problem }];
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
        onChange={event => type(event.target.value)}
      />
      <Problems id={problemId} problems={shown} />
    </div>
  );
}

const print = (value: JsonValue) => JSON.stringify(value, null, 2);
