import { type JsonValue, sameJson } from "../../shared/json.ts";
import type { MatrixField } from "../../shared/protocol.ts";
import type { FieldSchema, ScopeSchema, ValueSchema } from "../../shared/scopes/scope-schema.ts";
import { shortened } from "../../shared/shortened.ts";
import { problemOfEdit } from "../edits/invalid-edits.ts";
import { shortValue } from "../parts/short-value.ts";
import { mask, showJson } from "../parts/show-json.ts";
import { schemaOfEdit } from "../state/edit-masks.ts";
import { orDefault, type ScreenState } from "../state/store.ts";
import type { CellOf } from "./use-cells.ts";

/** The maximum of characters of a value in the page, more than fit into its cell. */
const maxCharacters = 120;
const maxInTooltip = 1_000;

/** A column. */
export interface GridField extends MatrixField {
  readonly scope: string;
  /** The name without the scope. */
  readonly name: string;
  readonly schema: FieldSchema;
  readonly scopeSchema: ScopeSchema | undefined;
}

/** The content and the marks of a cell. */
export interface CellView {
  readonly text: string;
  /** For screen readers: the text and its marks. */
  readonly label: string;
  /** As a tooltip: the whole value, as far as a tooltip can show it, and its marks. */
  readonly whole: string;
  readonly flags: {
    readonly "data-stored": boolean;
    /** Whether most repositories have another value. */
    readonly "data-differs": boolean;
    readonly "data-edited": boolean;
    readonly "data-refused": boolean;
  };
}

export function cellView(repo: string, field: GridField, cellOf: CellOf, pending: ScreenState["pending"]): CellView {
  const edit = pending.get(`${repo} ${field.field}`);
  const schema = schemaOfEdit(field.schema, edit);
  const isMasked = schema["x-masked"] === true;
  const cell = cellOf(repo, field.field);
  const value = edit === undefined ? cell?.value : orDefault(edit.value, schema.default);
  const most = field.like === undefined ? field.value : cellOf(field.like, field.field)?.value;
  const isStored = edit === undefined ? cell?.isStored === true : edit.value !== undefined;
  const differs = !isMasked && value !== undefined && most !== undefined && !sameJson(value, most);
  const trouble = edit && problemOfEdit(edit, field.schema, field.scopeSchema);
  const text = cell === undefined && edit === undefined ? "…" : textOfValue(value, schema);
  const marks = [
    isStored && "stored",
    differs && "differs from most",
    edit !== undefined && "edited",
    trouble !== undefined && `${edit?.refusal === undefined ? "invalid" : "refused"}: ${trouble}`,
  ].filter(mark => mark !== false);
  const labelled = (shown: string) => [isMasked ? "masked" : shown, ...marks].join(", ");
  return {
    text,
    label: labelled(text),
    whole: labelled(shortened(showJson(value, schema), maxInTooltip)),
    flags: {
      "data-stored": isStored,
      "data-differs": differs,
      "data-edited": edit !== undefined,
      "data-refused": trouble !== undefined,
    },
  };
}

/** A short form of a value; dots if it is masked. */
export function textOfValue(value: JsonValue | undefined, schema: ValueSchema): string {
  if (schema["x-masked"] === true) return mask;
  return value === undefined ? "" : shortened(shortValue(value, schema), maxCharacters);
}
