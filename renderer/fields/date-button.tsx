import { useRef } from "react";

interface DateButtonProps {
  /** A date of RFC 3339, perhaps with a time, or a text that is none yet. */
  readonly value: string;
  readonly format: "date" | "date-time";
  readonly label: string;
  onChange(value: string): void;
}

/** Chooses a date in the browser's own calendar; the text beside it stays the value. */
export function DateButton({ value, format, label, onChange }: DateButtonProps) {
  const input = useRef<HTMLInputElement>(null);
  const isTimed = format === "date-time";
  return (
    <span className="date-button">
      <button type="button" className="button button-quiet" onClick={() => input.current?.showPicker()}>
        Choose…<span className="visually-hidden"> a date for {label}</span>
      </button>
      <input
        ref={input}
        className="date-input"
        type={isTimed ? "datetime-local" : "date"}
        aria-hidden="true"
        tabIndex={-1}
        value={isTimed ? localTime(value) : /^\d{4}-\d\d-\d\d$/.test(value) ? value : ""}
        onChange={event => {
          const chosen = event.target.value;
          // A calendar that is cleared or left in between chooses nothing.
          if (chosen !== "") onChange(isTimed ? new Date(chosen).toISOString().replace(".000Z", "Z") : chosen);
        }}
      />
    </span>
  );
}

/** As the browser's calendar takes it, in this machine's time zone; empty if it is no time. */
function localTime(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
