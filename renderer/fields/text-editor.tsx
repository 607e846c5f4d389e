import { useId, useState } from "react";
import { mask } from "../page/show-json.ts";
import { type EditorProps, ownProblems } from "./editor.tsx";
import { invisibleIn, withoutInvisible } from "./invisible.ts";
import { withLineFeeds, withOwnLineEnds } from "./line-ends.ts";
import { Problems } from "./problems.tsx";

/**
 * A text of any number of lines, for which the control grows; local paths use the path font. It stays the same control whatever is
 * typed, so the focus stays too. A masked text is not in the page before it is shown: what the person types, covered, replaces it.
 */
export function TextEditor({ value, schema, label, describedBy, problems, revealed, onChange }: EditorProps) {
  const problemId = useId();
  const unseenId = useId();
  const own = ownProblems(problems);
  const stored = typeof value === "string" ? value : "";
  const isCovered = schema["x-masked"] === true && !revealed;
  /** What was typed while the text was covered. */
  const [typed, setTyped] = useState<string>();
  if (!isCovered && typed !== undefined) setTyped(undefined);
  const isHidden = isCovered && typed !== stored;
  const text = isHidden ? "" : stored;
  const shown = withLineFeeds(text);
  const unseen = invisibleIn(text);
  const change = (next: string) => {
    if (isCovered) setTyped(next);
    onChange(next);
  };
  const empty = value === null ? "none" : "empty";
  return (
    <div className="editor-text">
      <textarea
        className={`input input-text${schema["x-path"] === true ? " input-path" : ""}${isCovered ? " input-covered" : ""}`}
        aria-label={label}
        aria-describedby={
          [describedBy, own.length > 0 && problemId, unseen.length > 0 && unseenId].filter(Boolean).join(" ") ||
          undefined
        }
        aria-invalid={own.length > 0}
        autoComplete="off"
        spellCheck={false}
        placeholder={isHidden && stored !== "" ? `${mask} type to replace` : empty}
        rows={Math.min(12, shown.split("\n").length)}
        value={shown}
        onChange={event => change(withOwnLineEnds(text, event.target.value))}
      />
      {unseen.length > 0 && (
        <p className="hint" id={unseenId} role="status">
          Has characters that nobody sees: {unseen.join(", ")}.{" "}
          <button type="button" className="link" onClick={() => change(withoutInvisible(text))}>
            Remove them<span className="visually-hidden"> from {label}</span>
          </button>
        </p>
      )}
      <Problems id={problemId} problems={own} />
    </div>
  );
}
