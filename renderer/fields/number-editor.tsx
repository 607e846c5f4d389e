import { useId } from "react";
import type { JsonValue } from "../../shared/json.ts";
import { useEditedText } from "./edited-text.ts";
import { type EditorProps, ownProblems } from "./editor.tsx";
import { boundsText } from "./limits.ts";
import { Problems } from "./problems.tsx";
import { readInteger, readNumber } from "./read-text.ts";

/** So many steps on, to multiples of the step. Of decimals as people write them: 2.3 - 1 is 1.3, not 1.2999999999999998. */
function stepped(from: number, steps: number, multipleOf: unknown): number {
  if (typeof multipleOf !== "number") return Number((from + steps).toFixed(digitsOf(from)));
  const exact = Number((from / multipleOf).toFixed(9));
  // From between two multiples, the first step leads to the next one.
  const start = steps > 0 ? Math.floor(exact) : Math.ceil(exact);
  return Number(((start + steps) * multipleOf).toFixed(digitsOf(multipleOf)));
}

function digitsOf(number: number): number {
  const [, fraction = "", power = "0"] = /(?:\.(\d+))?(?:e-(\d+))?$/.exec(String(number)) ?? [];
  return Math.min(fraction.length + Number(power), 100);
}

function print(value: JsonValue): string {
  return value === null ? "" : String(value);
}

/** A number with its bounds and its unit. Arrow keys step it. Text that is not a number stays, to be corrected. */
export function NumberEditor(props: EditorProps) {
  const { value, schema, label, describedBy, problems, nothing = "not set", onChange } = props;
  const read = schema["type"] === "integer" ? readInteger : readNumber;
  const { text, problem, type } = useEditedText(value, read, print, onChange);
  const problemId = useId();
  const { minimum, maximum, multipleOf } = schema;
  // Where nobody has typed anything, nothing is wrong with that.
  const shown = problem === undefined || value === null ? ownProblems(problems) : [{ path: [], message: problem }];
  const bounds = boundsText(schema);
  const step = (by: number) => {
    // A text that is not a number yet is not replaced by one.
    if (problem !== undefined && text.trim() !== "") return;
    const from = Number(text);
    const least = typeof minimum === "number" ? minimum : Number.NEGATIVE_INFINITY;
    const most = typeof maximum === "number" ? maximum : Number.POSITIVE_INFINITY;
    type(String(Math.min(most, Math.max(least, stepped(from, by, multipleOf)))));
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
          placeholder={value === null ? nothing : undefined}
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
