import type { JsonValue } from "../../shared/json.ts";
import { isSecretReference } from "../../shared/scopes/secret-reference.ts";
import type { Fields } from "./fields.ts";
import { printNote } from "./terminal.ts";

/** Says which fields were given a secret itself, where a reference to one belongs (`x-secret`). It is no error: it is set. */
export function warnOfPlainSecrets(given: Iterable<readonly [field: string, value: JsonValue]>, fields: Fields): void {
  const plain = [...given].filter(([field, value]) => fields.get(field)?.["x-secret"] === true && isPlain(value));
  for (const field of new Set(plain.map(([name]) => name)))
    printNote(
      `${field} is for a secret, and now its file, its history and backups have it in clear. A reference keeps it out: cmd://NAME/ARGUMENT`,
    );
}

/** What is empty tells nothing. */
function isPlain(value: JsonValue): boolean {
  if (value === null || value === "") return false;
  if (typeof value === "object") return Object.values(value).some(isPlain);
  return !isSecretReference(value);
}
