import { limitExceeded, RepoconfError } from "../../../shared/errors.ts";
import { roundedUp } from "../../../shared/hidden-size.ts";
import { limits } from "../../../shared/limits.ts";
import { shortened } from "../../../shared/shortened.ts";

/** The bytes of a value that a key may not see, as far as it may know them. */
export function hiddenBytes(value: unknown): number {
  return roundedUp(jsonBytes(value));
}

/**
 * Checks a message's arguments before anything else reads them: nesting, binary data, size. Without recursion, because the
 * transport accepts anything that fits into 4 MB. Returns their bytes as JSON. Throws RepoconfError 1101 or 1107.
 */
export function measureArguments(...given: readonly unknown[]): number {
  const waiting: { readonly value: object; readonly level: number; readonly argument: string }[] = [];
  const visit = (value: unknown, level: number, argument: string) => {
    // `ExactDecoder` reads these as infinite.
    if (typeof value === "number" && !Number.isFinite(value)) throw inexactArgument(argument);
    if (typeof value !== "object" || value === null) return;
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
      throw new RepoconfError(1101, "Messages cannot contain binary data. Send it as text.");
    }
    if (level > limits.messageNesting) {
      const message = `The arguments are nested deeper than ${limits.messageNesting} levels (the limit of a message).`;
      throw new RepoconfError(1107, message, { details: { limit: limits.messageNesting } });
    }
    waiting.push({ value, level, argument });
  };
  for (const argument of given) visit(argument, 1, "");
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, level, argument } = next;
    if (level === 1) for (const [name, inner] of Object.entries(value)) visit(inner, 2, name);
    else for (const inner of Array.isArray(value) ? value : Object.values(value)) visit(inner, level + 1, argument);
  }
  const bytes = given.reduce<number>((sum, argument) => sum + jsonBytes(argument), 0);
  if (bytes > limits.messageBytes) throw limitExceeded("bytes in a message", bytes, limits.messageBytes);
  return bytes;
}

function inexactArgument(argument: string): RepoconfError {
  const place = argument === "" ? "" : ` in ${shortened(argument, limits.shownName)}`;
  const message = `A number${place} is too large, or is a whole number that would be rounded, because only those up to ${Number.MAX_SAFE_INTEGER} are always kept. Send it as text, to a field that accepts text.`;
  return new RepoconfError(1101, message, argument.includes(".") ? { field: argument } : {});
}

/** Bytes of a value as JSON in UTF-8. */
export function jsonBytes(value: unknown): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
}
