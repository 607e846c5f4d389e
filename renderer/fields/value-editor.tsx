import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { Choice } from "./choice.tsx";
import { EditorOfValues, type EditorProps, itemSchema } from "./editor.tsx";
import { JsonText } from "./json-text.tsx";
import { ListEditor } from "./list-editor.tsx";
import { MapEditor } from "./map-editor.tsx";
import { NumberEditor } from "./number-editor.tsx";
import { ObjectEditor } from "./object-editor.tsx";
import { SwitchEditor } from "./switch-editor.tsx";
import { TableEditor } from "./table-editor.tsx";
import { TextEditor } from "./text-editor.tsx";

/** The control for a schema, to any depth: scopes that people add get the same controls as svc, without extra code. */
export function ValueEditor(props: EditorProps) {
  const Editor = editorFor(props.schema, props.value, props.keys !== undefined);
  return (
    <EditorOfValues value={ValueEditor}>
      <Editor {...props} />
    </EditorOfValues>
  );
}

/** Whether the control needs more than a line: then it is collapsed until a person expands it below the field's row. */
export function isLarge(schema: ValueSchema, value: JsonValue, isKey: boolean): boolean {
  const editor = editorFor(schema, value, isKey);
  return ![Choice, SwitchEditor, NumberEditor, TextEditor].includes(editor) || String(value).includes("\n");
}

function editorFor(schema: ValueSchema, value: JsonValue, isKey: boolean) {
  const type = schema["type"];
  if (isKey || Array.isArray(schema["enum"]) || schema["x-labels"] !== undefined) return Choice;
  if (type === "boolean" && typeof value === "boolean") return SwitchEditor;
  if (type === "integer" || type === "number") return NumberEditor;
  if (type === "string" && typeof value === "string") return TextEditor;
  if (type === "array" && Array.isArray(value)) {
    const items = itemSchema(schema);
    if (items === undefined) return JsonText;
    const members = items["properties"];
    const isFlat = isJsonObject(members) && Object.values(members).every(member => isSimple(member));
    return isFlat && value.every(isJsonObject) ? TableEditor : ListEditor;
  }
  if (type === "object" && isJsonObject(value)) {
    if (isJsonObject(schema["properties"])) return ObjectEditor;
    if (isJsonObject(schema["additionalProperties"])) return MapEditor;
  }
  return JsonText;
}

/** Whether one line is enough for it. */
function isSimple(schema: unknown): boolean {
  if (!isJsonObject(schema)) return false;
  const { type } = schema;
  return type === "string" || type === "integer" || type === "number" || type === "boolean";
}
