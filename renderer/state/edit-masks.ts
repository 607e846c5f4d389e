import { masksOf } from "../../shared/scopes/masks.ts";
import type { ValueSchema } from "../../shared/scopes/scope-schema.ts";
import type { PendingEdit } from "./store.ts";

/*
 * An edit may contain what was masked when it was made, and its field's schema may change before the edit ends: what was masked
 * stays so until then. Where the new schema does not mask the same places, the whole edit is hidden.
 */

/** Of an edit that is hidden as a whole. */
export const everything = masksOf({ "x-masked": true });

/** What a new version of an edit was masked by. */
export function masksAfter(before: PendingEdit | undefined, schema: ValueSchema): string | undefined {
  const now = masksOf(schema);
  return before?.masks === undefined || before.masks === now ? now : everything;
}

/** By which schema the values of a field with this edit are shown: its own, masked as a whole where the edit requires that. */
export function schemaOfEdit<Schema extends ValueSchema>(schema: Schema, edit: PendingEdit | undefined): Schema {
  if (edit?.masks === undefined || edit.masks === masksOf(schema)) return schema;
  const hidden = hiding.get(schema) ?? { ...schema, "x-masked": true };
  hiding.set(schema, hidden);
  return hidden as Schema;
}

/** One for each schema, so that what is memoized by it stays. */
const hiding = new WeakMap<ValueSchema, ValueSchema>();
