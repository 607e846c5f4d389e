import type { JsonValue } from "../json.ts";

/** Whether a value is meant as a reference to a secret, `cmd://NAME/ARGUMENT`, valid or not. */
export function isSecretReference(value: JsonValue): value is string {
  return typeof value === "string" && value.startsWith("cmd://");
}
