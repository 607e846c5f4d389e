import { useId, useState } from "react";
import { formats } from "../../shared/schema/formats.ts";
import { invisibleIn } from "../parts/invisible.ts";
import { mask } from "../parts/show-json.ts";
import { DateButton } from "./date-button.tsx";
import { type EditorProps, ownProblems } from "./editor.tsx";
import { withLineFeeds, withOwnLineEnds } from "./line-ends.ts";
import { Problems } from "./problems.tsx";
import { UnseenNote } from "./unseen-note.tsx";

/** What keyboards on a screen offer. */
const inputModes: ReadonlyMap<unknown, "email" | "url"> = new Map([
  ["email", "email"],
  ["uri", "url"],
]);

/**
 * A text of any number of lines, for which the control grows; local paths use the path font. It stays the same control whatever is
 * typed, so the focus stays too. A masked text is not in the page before it is shown: what the person types, covered, replaces it.
 */
export function TextEditor(props: EditorProps) {
  const { value, schema, label, describedBy, problems, revealed, nothing = "not set", onChange } = props;
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
  const hasUnseen = invisibleIn(text).length > 0;
  const change = (next: string) => {
    if (isCovered) setTyped(next);
    onChange(next);
  };
  const { format } = schema;
  const example = typeof format === "string" ? formats.get(format)?.example : undefined;
  const empty = [value === null ? nothing : "empty", example].filter(Boolean).join(": ");
  return (
    <div className="editor-text">
      <textarea
        className={`input input-text${schema["x-path"] === true ? " input-path" : ""}${isCovered ? " input-covered" : ""}`}
        aria-label={label}
        aria-describedby={
          [describedBy, own.length > 0 && problemId, hasUnseen && unseenId].filter(Boolean).join(" ") || undefined
        }
        aria-invalid={own.length > 0}
        autoComplete="off"
        spellCheck={false}
        inputMode={inputModes.get(format)}
        placeholder={isHidden && stored !== "" ? `${mask} type to replace` : empty}
        rows={Math.min(12, shown.split("\n").length)}
        value={shown}
        onChange={event => change(withOwnLineEnds(text, event.target.value))}
      />
      {(format === "date" || format === "date-time") && !isCovered && (
        <DateButton value={stored} format={format} label={label} onChange={change} />
      )}
      <UnseenNote id={unseenId} text={text} label={label} onChange={change} />
      <Problems id={problemId} problems={own} />
    </div>
  );
}
