import { useContext } from "react";
import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import { masksAnything, schemaOf } from "../../shared/scopes/masks.ts";
import type { ScopeSchema, ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { mask } from "../parts/show-json.ts";
import { textOfUnread } from "../state/unread-text.ts";
import { choicesOf, nullableOf } from "./alternatives.ts";
import { CheckList, checksOf } from "./check-list.tsx";
import { Choice } from "./choice.tsx";
import { EditorOfValues, type EditorProps, itemSchema } from "./editor.tsx";
import { hasNamedEntries } from "./entry-names.ts";
import { JsonText } from "./json-text.tsx";
import { ListEditor } from "./list-editor.tsx";
import { MapEditor } from "./map-editor.tsx";
import { NullableEditor } from "./nullable-editor.tsx";
import { NumberEditor } from "./number-editor.tsx";
import { ObjectEditor } from "./object-editor.tsx";
import { ReadOnlyValue } from "./read-only-value.tsx";
import { resolvedIn, SchemaRoot } from "./resolved-schema.ts";
import { SwitchEditor } from "./switch-editor.tsx";
import { TableEditor } from "./table-editor.tsx";
import { TextEditor } from "./text-editor.tsx";
import { VariablesEditor } from "./variables-editor.tsx";
import { VariantEditor } from "./variant-editor.tsx";
import { variantsOf } from "./variants.ts";

/** The control for a schema, to any depth: scopes that people add get the same controls as svc, without extra code. */
export function ValueEditor(given: EditorProps) {
  const root = useContext(SchemaRoot);
  const props = { ...given, schema: resolvedIn(root, given.schema) };
  const Editor = editorFor(props.schema, props.value, props.keys !== undefined, root);
  const isHidden = !props.revealed && masksAnything(props.schema) && !hidingThemselves.includes(Editor);
  return (
    <EditorOfValues value={ValueEditor}>{isHidden ? <HiddenValue {...props} /> : <Editor {...props} />}</EditorOfValues>
  );
}

/** They hide what is masked: a text by covering it, the others by the controls of their parts. */
const hidingThemselves = [
  ...[ListEditor, MapEditor, NullableEditor, ObjectEditor, ReadOnlyValue, TableEditor, TextEditor, VariablesEditor],
];
/** Others need much space: they are collapsed until a person expands them below the field's row. */
const inRow = [Choice, NumberEditor, ReadOnlyValue, SwitchEditor, TextEditor];

/** Whether the control is shown below the field's row. `root`: the schema of the field's scope. */
export function isLarge(schema: ValueSchema, value: JsonValue, isKey: boolean, root: ScopeSchema | undefined): boolean {
  const known = resolvedIn(root, schema);
  const Editor = editorFor(known, value, isKey, root);
  if (Editor === NullableEditor) return isLarge(nullableOf(known, root) ?? known, value, false, root);
  return !inRow.includes(Editor);
}

/** `schema` is resolved. Where null is no value of it, nobody has set one: its control shows that too. */
function editorFor(schema: ValueSchema, value: JsonValue, isKey: boolean, root: ScopeSchema | undefined) {
  const type = schema["type"] ?? (isJsonObject(schema["properties"]) ? "object" : undefined);
  if (schema["readOnly"] === true) return ReadOnlyValue;
  if (isKey || schema["x-labels"] !== undefined || choicesOf(schema, root) !== undefined) return Choice;
  const inner = nullableOf(schema, root);
  if (inner !== undefined && editorFor(inner, value, false, root) !== JsonText) return NullableEditor;
  if (variantsOf(schema, root).length > 0) return VariantEditor;
  const isUnread = textOfUnread(value) !== undefined;
  const isNothing = value === null;
  if (type === "boolean" && (typeof value === "boolean" || isNothing)) return SwitchEditor;
  if ((type === "integer" || type === "number") && (typeof value === "number" || isUnread || isNothing))
    return NumberEditor;
  if (isUnread) return JsonText;
  if (type === "string" && (typeof value === "string" || isNothing)) return TextEditor;
  if (type === "array" && (Array.isArray(value) || isNothing)) {
    if (checksOf(schema, root) !== undefined) return CheckList;
    const items = itemSchema(schema);
    if (items === undefined) return Array.isArray(schema["prefixItems"]) ? ListEditor : JsonText;
    const inner = resolvedIn(root, items);
    if (!fitsTable(inner, value ?? [], root)) return ListEditor;
    return areVariables(inner["properties"]) ? VariablesEditor : TableEditor;
  }
  if (type === "object" && (isJsonObject(value) || isNothing)) {
    if (isJsonObject(schema["properties"])) return ObjectEditor;
    if (hasNamedEntries(schema)) return MapEditor;
  }
  return JsonText;
}

/** More columns than this have no room. */
const maxColumns = 4;

/** Whether a table with the members of these entries as columns shows all of them. */
function fitsTable(items: ValueSchema, entries: readonly JsonValue[], root: ScopeSchema | undefined): boolean {
  const { properties: columns } = items;
  if (!isJsonObject(columns) || Object.keys(columns).length > maxColumns || variantsOf(items, root).length > 0)
    return false;
  if (!Object.values(columns).every(column => isSimple(column, root))) return false;
  return entries.every(entry => isJsonObject(entry) && Object.keys(entry).every(name => Object.hasOwn(columns, name)));
}

/** Whether the columns are a name and a text, as of environment variables. */
function areVariables(columns: unknown): boolean {
  if (!isJsonObject(columns)) return false;
  const { name, value, ...more } = columns;
  return [name, value].every(one => schemaOf(one)["type"] === "string") && Object.keys(more).length === 0;
}

/** Whether one line is enough for it. */
function isSimple(schema: JsonValue, root: ScopeSchema | undefined): boolean {
  if (!isJsonObject(schema)) return false;
  const { type } = resolvedIn(root, schema as ValueSchema);
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
