import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import { masksAnything } from "../../shared/scopes/masks.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { mask } from "../page/show-json.ts";
import { textOfUnread } from "../state/unread-text.ts";
import { Choice } from "./choice.tsx";
import { EditorOfValues, type EditorProps, itemSchema } from "./editor.tsx";
import { JsonText } from "./json-text.tsx";
import { ListEditor } from "./list-editor.tsx";
import { MapEditor } from "./map-editor.tsx";
import { NullableTextEditor } from "./nullable-text-editor.tsx";
import { NumberEditor } from "./number-editor.tsx";
import { ObjectEditor } from "./object-editor.tsx";
import { SwitchEditor } from "./switch-editor.tsx";
import { TableEditor } from "./table-editor.tsx";
import { TextEditor } from "./text-editor.tsx";

/** The control for a schema, to any depth: scopes that people add get the same controls as svc, without extra code. */
export function ValueEditor(props: EditorProps) {
  const Editor = editorFor(props.schema, props.value, props.keys !== undefined);
  const isHidden = !props.revealed && masksAnything(props.schema) && !hidingThemselves.includes(Editor);
  return (
    <EditorOfValues value={ValueEditor}>{isHidden ? <HiddenValue {...props} /> : <Editor {...props} />}</EditorOfValues>
  );
}

/** They hide what is masked: a text by covering it, the others by the controls of their parts. */
const hidingThemselves = [ListEditor, MapEditor, NullableTextEditor, ObjectEditor, TableEditor, TextEditor];
/** Others need much space: they are collapsed until a person expands them below the field's row. */
const inRow = [Choice, NullableTextEditor, NumberEditor, SwitchEditor, TextEditor];

/** Whether the control is shown below the field's row. */
export function isLarge(schema: ValueSchema, value: JsonValue, isKey: boolean): boolean {
  return !inRow.includes(editorFor(schema, value, isKey));
}

function editorFor(schema: ValueSchema, value: JsonValue, isKey: boolean) {
  const type = schema["type"];
  if (isKey || Array.isArray(schema["enum"]) || schema["x-labels"] !== undefined) return Choice;
  if (type === "boolean" && typeof value === "boolean") return SwitchEditor;
  const isUnread = textOfUnread(value) !== undefined;
  if ((type === "integer" || type === "number") && (typeof value === "number" || isUnread)) return NumberEditor;
  if (isUnread) return JsonText;
  if (type === "string" && typeof value === "string") return TextEditor;
  if (isTextOrNull(type) && (typeof value === "string" || value === null)) return NullableTextEditor;
  if (type === "array" && Array.isArray(value)) {
    const items = itemSchema(schema);
    if (items === undefined) return JsonText;
    return fitsTable(items["properties"], value) ? TableEditor : ListEditor;
  }
  if (type === "object" && isJsonObject(value)) {
    if (isJsonObject(schema["properties"])) return ObjectEditor;
    if (isJsonObject(schema["additionalProperties"])) return MapEditor;
  }
  return JsonText;
}

function isTextOrNull(type: unknown): boolean {
  return Array.isArray(type) && type.length === 2 && type.includes("string") && type.includes("null");
}

/** Whether a table with these columns shows all of the entries. */
function fitsTable(columns: unknown, entries: readonly JsonValue[]): boolean {
  if (!isJsonObject(columns) || !Object.values(columns).every(isSimple)) return false;
  return entries.every(entry => isJsonObject(entry) && Object.keys(entry).every(name => Object.hasOwn(columns, name)));
}

/** Whether one line is enough for it. */
function isSimple(schema: unknown): boolean {
  if (!isJsonObject(schema)) return false;
  const { type } = schema;
  return type === "string" || type === "integer" || type === "number" || type === "boolean";
}

/** In place of a control whose value is masked, until the person shows it. */
function HiddenValue({ label }: EditorProps) {
  return (
    <p className="hidden-value">
      <span className="visually-hidden">{label}: </span>
      {mask} <span className="hint">hidden until you show the values</span>
    </p>
  );
}
