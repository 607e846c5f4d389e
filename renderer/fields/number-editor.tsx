import { useId } from "react";
import { useEditedText } from "./edited-text.ts";
import { type EditorProps, ownProblems } from "./editor.tsx";
import { boundsText } from "./limits.ts";
import { Problems } from "./problems.tsx";
import { readInteger, readNumber } from "./read-text.ts";

/** Of decimals as people write them: 2.3 - 1 is 1.3, not 1.2999999999999998. */
function sum(one: number, whole: number): number {
  const digits = /\.(\d+)$/.exec(String(one))?.[1]?.length ?? 0;
  return Number((one + whole).toFixed(Math.min(digits, 100)));
}

/** A number with its bounds and its unit. Arrow keys step it. Text that is not a number stays, to be corrected. */
export function NumberEditor({ value, schema, label, describedBy, problems, onChange }: EditorProps) {
  const read = schema["type"] === "integer" ? readInteger : readNumber;
  const { text, problem, type } = useEditedText(value, read, String, onChange);
  const problemId = useId();
  const { minimum, maximum } = schema;
  const shown = problem === undefined ? ownProblems(problems) : [{ path: [], message: problem }];
  const bounds = boundsText(schema);
  const step = (by: number) => {
    // A text that is not a number yet is not replaced by one.
    if (problem !== undefined && text.trim() !== "") return;
    const from = Number(text);
    const least = typeof minimum === "number" ? minimum : Number.NEGATIVE_INFINITY;
    const most = typeof maximum === "number" ? maximum : Number.POSITIVE_INFINITY;
    type(String(Math.min(most, Math.max(least, sum(from, by)))));
  };
  return (
    <div className="editor-number">
      <span className="input-line">
        <input
          className="input input-number"
          inputMode="numeric"
          role="spinbutton"
          aria-label={label}
          aria-describedby={[describedBy, shown.length > 0 && problemId].filter(Boolean).join(" ") || undefined}
          aria-invalid={shown.length > 0}
          {...(problem === undefined && { "aria-valuenow": Number(text) })}
          {...(typeof minimum === "number" && { "aria-valuemin": minimum })}
          {...(typeof maximum === "number" && { "aria-valuemax": maximum })}
          value={text}
          onChange={event => type(event.target.value)}
          onKeyDown={event => {
            const by = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
            if (by === undefined) return;
            event.preventDefault();
            step(by);
          }}
        />
        {schema["x-unit"] !== undefined && <span className="unit">{schema["x-unit"]}</span>}
        {bounds !== undefined && <span className="hint">{bounds}</span>}
      </span>
      <Problems id={problemId} problems={shown} />
    </div>
  );
}
