import { useId } from "react";
import { type EditorProps, ownProblems } from "./editor.tsx";
import { Problems } from "./problems.tsx";

/** A text field; local paths use the path font. A long text, or one with line breaks, gets more than one line. */
export function TextEditor({ value, schema, label, describedBy, problems, revealed, onChange }: EditorProps) {
  const problemId = useId();
  const own = ownProblems(problems);
  const text = typeof value === "string" ? value : "";
  const hidden = schema["x-masked"] === true && !revealed;
  const shared = {
    "aria-label": label,
    "aria-describedby": [describedBy, own.length > 0 && problemId].filter(Boolean).join(" ") || undefined,
    "aria-invalid": own.length > 0,
    spellCheck: false,
    value: text,
    placeholder: "empty",
  };
  return (
    <div className="editor-text">
      {text.includes("\n") && !hidden ? (
        <textarea
          {...shared}
          className="input input-text"
          rows={Math.min(12, text.split("\n").length)}
          onChange={event => onChange(event.target.value)}
        />
      ) : (
        <input
          {...shared}
          className={`input input-text${schema["x-path"] === true ? " input-path" : ""}`}
          type={hidden ? "password" : "text"}
          autoComplete="off"
          onChange={event => onChange(event.target.value)}
        />
      )}
      <Problems id={problemId} problems={own} />
    </div>
  );
}
