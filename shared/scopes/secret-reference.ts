import type { JsonValue } from "../json.ts";

/** Whether a value says that it is a reference to a secret, `cmd://NAME/ARGUMENT`: a good one or not. */
export function isSecretReference(value: JsonValue): value is string {
  return typeof value === "string" && value.startsWith("cmd://");
}
