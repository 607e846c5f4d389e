import { useId } from "react";
import { useEditedText } from "./edited-text.ts";
import { type EditorProps, ownProblems } from "./editor.tsx";
import { boundsText } from "./limits.ts";
import { Problems } from "./problems.tsx";

/**
 * A number with its bounds and its unit. Arrow keys step it. Text that is not a number is passed on unchanged: it fails every
 * check and stays visible to be corrected.
 */
export function NumberEditor({ value, schema, label, describedBy, problems, onChange }: EditorProps) {
  const [text, setText] = useEditedText(value, parse, String);
  const problemId = useId();
  const parsed = parse(text);
  const { minimum, maximum } = schema;
  const unreadable = parsed === undefined ? [{ path: [], message: "Expected a number." }] : [];
  const shown = [...unreadable, ...(parsed === undefined ? [] : ownProblems(problems))];
  const bounds = boundsText(schema);
  const take = (next: string) => {
    setText(next);
    onChange(parse(next) ?? next);
  };
  const step = (by: number) => {
    const from = parsed ?? 0;
    const least = typeof minimum === "number" ? minimum : Number.NEGATIVE_INFINITY;
    const most = typeof maximum === "number" ? maximum : Number.POSITIVE_INFINITY;
    take(String(Math.min(most, Math.max(least, from + by))));
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
          aria-valuenow={parsed ?? 0}
          {...(typeof minimum === "number" && { "aria-valuemin": minimum })}
          {...(typeof maximum === "number" && { "aria-valuemax": maximum })}
          value={text}
          onChange={event => take(event.target.value)}
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

function parse(text: string): number | undefined {
  const number = Number(text.trim());
  return text.trim() !== "" && Number.isFinite(number) ? number : undefined;
}
