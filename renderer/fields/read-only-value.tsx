import { isJsonObject } from "../../shared/json.ts";
import { showJson } from "../parts/show-json.ts";
import type { EditorProps } from "./editor.tsx";

/** A value that only tools set, by the schema's `readOnly`. */
export function ReadOnlyValue({ value, schema, label, revealed }: EditorProps) {
  const isFilled = Array.isArray(value) || isJsonObject(value);
  const text = isFilled ? JSON.stringify(value) : showJson(value, { ...schema, "x-masked": false });
  return (
    <p className="read-only">
      <span className="visually-hidden">{label}: </span>
      <code>{revealed ? text : showJson(value, schema)}</code> <span className="badge">read-only</span>
    </p>
  );
}
