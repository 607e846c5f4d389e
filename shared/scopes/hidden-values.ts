import { isJsonObject, type JsonValue } from "../json.ts";
import { masksAnything } from "./masks.ts";
import type { FieldSchema } from "./scope-schema.ts";

/** Whether a value is meant as a reference to a secret, `cmd://NAME/ARGUMENT`, valid or not, such as with `CMD:`. */
export function isSecretReference(value: JsonValue): value is string {
  return typeof value === "string" && value.slice(0, 6).toLowerCase() === "cmd://";
}

/**
 * Whether a field's values, or one of them alone, are shown only to keys with the right `reveal`: masked values, secrets and references to
 * secrets. Without a schema they may have been masked. `schema` comes from `withMasks`.
 */
export function needsReveal(schema: FieldSchema | undefined, ...values: readonly (JsonValue | undefined)[]): boolean {
  return schema === undefined || masksAnything(schema) || schema["x-secret"] === true || values.some(holdsReference);
}

/** Whether a value is a reference to a secret, or has one inside, also as the name of a member. */
export function holdsReference(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.some(holdsReference);
  if (isJsonObject(value))
    return Object.keys(value).some(name => isSecretReference(name) || holdsReference(value[name]));
  return value !== undefined && isSecretReference(value);
}
