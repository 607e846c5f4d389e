import type { JsonValue } from "../../shared/json.ts";
import { isSecretReference } from "../../shared/scopes/secret-reference.ts";
import type { Fields } from "./fields.ts";
import { printNote } from "./terminal.ts";

/** Warns about fields with `x-secret` that were set to a plain secret instead of a reference. The value is set anyway. */
export function warnOfPlainSecrets(given: Iterable<readonly [field: string, value: JsonValue]>, fields: Fields): void {
  const plain = [...given].filter(([field, value]) => fields.get(field)?.["x-secret"] === true && isPlain(value));
  for (const field of new Set(plain.map(([name]) => name)))
    printNote(
      `${field} is for a secret, and now its file, its history and backups have it in clear. A reference keeps it out: cmd://NAME/ARGUMENT`,
    );
}

/** An empty value is not a secret. */
function isPlain(value: JsonValue): boolean {
  if (value === null || value === "") return false;
  if (typeof value === "object") return Object.values(value).some(isPlain);
  return !isSecretReference(value);
}
