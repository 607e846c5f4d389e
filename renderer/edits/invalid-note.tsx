import { useMemo } from "react";
import { shownKeys } from "../actions/keys.ts";
import { useScreen } from "../state/store.ts";
import { goToInvalid, invalidEdits } from "./invalid-edits.ts";

/** How many of the edits are invalid, and the way from one to the next. */
export function InvalidNote() {
  const pending = useScreen(state => state.pending);
  const scopes = useScreen(state => state.scopes);
  const invalid = useMemo(() => invalidEdits(pending, scopes).size, [pending, scopes]);
  if (invalid === 0) return undefined;
  return (
    <span className="invalid-note">
      <span className="problem" role="status">
        {pending.size === 1
          ? "The edit is invalid"
          : `${invalid} of ${pending.size} edits ${invalid === 1 ? "is" : "are"} invalid`}
      </span>
      {step(-1, "Previous")}
      {step(1, "Next")}
    </span>
  );
}

function step(by: 1 | -1, text: string) {
  return (
    <button
      type="button"
      className="button button-quiet"
      title={`${text} invalid edit (${shownKeys(by === 1 ? "F8" : "Shift+F8")})`}
      onClick={() => goToInvalid(by)}
    >
      {text}
      <span className="visually-hidden"> invalid edit</span>
    </button>
  );
}
