import { useContext, useState } from "react";
import type { JsonValue } from "../../shared/json.ts";
import { nullableOf } from "./alternatives.ts";
import { type EditorProps, NestedEditor } from "./editor.tsx";
import { emptyValue } from "./empty-value.ts";
import { SchemaRoot } from "./resolved-schema.ts";

/** A value, or none: null. Without the check mark, an empty text is a text. */
export function NullableEditor(props: EditorProps) {
  const { value, schema, label, onChange } = props;
  const root = useContext(SchemaRoot);
  const inner = nullableOf(schema, root) ?? schema;
  /** The value that "none" replaced, for those who change their mind. */
  const [before, setBefore] = useState<JsonValue>();
  return (
    <div className="editor-nullable">
      <NestedEditor {...props} schema={inner} nothing="none" />
      <label className="check">
        <input
          type="checkbox"
          checked={value === null}
          onChange={event => {
            if (value !== null) setBefore(value);
            onChange(event.target.checked ? null : (before ?? emptyValue(inner, root)));
          }}
        />
        <span>
          <span className="visually-hidden">{label}: </span>none
        </span>
      </label>
    </div>
  );
}
