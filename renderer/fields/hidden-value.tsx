import { mask } from "../page/show-json.ts";
import type { EditorProps } from "./editor.tsx";

/** In place of a control whose value is masked, until the person shows it. */
export function HiddenValue({ label }: EditorProps) {
  return (
    <p className="hidden-value">
      <span className="visually-hidden">{label}: </span>
      {mask} <span className="hint">hidden until you show the values</span>
    </p>
  );
}
