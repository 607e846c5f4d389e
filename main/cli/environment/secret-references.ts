import type { JsonValue } from "../../../shared/json.ts";
import { isSecretReference } from "../../../shared/scopes/hidden-values.ts";
import type { Fields } from "../connect/fields.ts";
import { printNote } from "../output/terminal.ts";

/** Warns if fields with `x-secret` were set to a plain value instead of a reference. The value is set anyway. */
export function warnOfPlainSecrets(given: Iterable<readonly [field: string, value: JsonValue]>, fields: Fields): void {
  const plain = [...given].filter(([field, value]) => fields.get(field)?.["x-secret"] === true && isPlainSecret(value));
  for (const field of new Set(plain.map(([name]) => name)))
    printNote(
      `${field} holds a secret, which is now in clear text in the file, the history and backups. To keep it out of them, set a reference instead: cmd://NAME/ARGUMENT`,
    );
}

/** Whether a value contains text other than references. Empty values are not secrets. */
export function isPlainSecret(value: JsonValue): boolean {
  if (value === null || value === "") return false;
  if (typeof value === "object") return Object.values(value).some(isPlainSecret);
  return !isSecretReference(value);
}
