import { type Config, type ConfigEdit, configEntries, countConfigFields } from "../../../shared/config.ts";
import type { ConfigPath } from "../../../shared/config-path.ts";
import { hiddenStep, roundedUp } from "../../../shared/hidden-size.ts";
import { isJsonObject, type JsonValue } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import { DocumentTooLargeError } from "../../files/json-document.ts";
import type { JsonText } from "../../files/json-text.ts";
import type { FileRoom } from "../types.ts";

/** What a file is to have. */
interface NextFile {
  /** An estimate of its bytes, which are never more. */
  readonly most: number;
  readonly config: Config;
  /** The values that it has without the change. */
  readonly before: Config;
  textOf(config: Config): Promise<JsonText>;
}

/** Which size limit the file would exceed; undefined: none. Its text is computed only if the estimate is too large. */
export async function exceededLimit(
  { most, config, before, textOf }: NextFile,
  rooms: readonly FileRoom[],
): Promise<DocumentTooLargeError | undefined> {
  let next: JsonText | undefined;
  for (const room of rooms) {
    // First without asking each field.
    if (most + countConfigFields(config) * hiddenStep <= room.bytes) continue;
    const hidden = hiddenIn(config, room);
    if (most + hidden.length * hiddenStep <= room.bytes) continue;
    next ??= await textOf(config);
    const size = knownSize(next, hidden);
    // A change that adds nothing is no reason why it is so large.
    if (size > room.bytes && size > knownSize(await textOf(before), hiddenIn(before, room)))
      return new DocumentTooLargeError(room.bytes);
  }
  if (most <= limits.repositoryFileBytes) return undefined;
  next ??= await textOf(config);
  const isTooLarge = Buffer.byteLength(next.text) > limits.repositoryFileBytes;
  return isTooLarge ? new DocumentTooLargeError(limits.repositoryFileBytes) : undefined;
}

/** The fields whose values may not be known exactly. */
function hiddenIn(config: Config, { hides }: FileRoom): readonly ConfigPath[] {
  return [...configEntries(config)].filter(({ value, ...path }) => hides(path, value));
}

/** A text's bytes, where those of each hidden value are rounded up. */
function knownSize({ text, measure }: JsonText, hidden: readonly ConfigPath[]): number {
  const sizes = measure(hidden.map(({ scope, field }) => ["config", scope, field]));
  return sizes.reduce<number>((sum, size = 0) => sum + roundedUp(size) - size, Buffer.byteLength(text));
}

/** The most bytes that fields can take in a file's text, however deep they are indented. */
export function mostBytes(edits: readonly ConfigEdit[]): number {
  return edits.reduce((sum, { field, value }) => sum + 3 * (field.length + mostCharacters(value, 1)) + 200, 0);
}

/** Assumes ten spaces for each level. Counts without building the text, which for deep nesting is nearly all spaces. */
function mostCharacters(value: JsonValue | undefined, depth: number): number {
  if (value === undefined) return 0;
  if (typeof value !== "object" || value === null) return JSON.stringify(value).length;
  const line = 10 * depth + 3;
  let count = line;
  if (isJsonObject(value))
    for (const name of Object.keys(value))
      count += line + JSON.stringify(name).length + mostCharacters(value[name], depth + 1);
  else for (const item of value) count += line + mostCharacters(item, depth + 1);
  return count;
}
