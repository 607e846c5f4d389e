import { limitExceeded, RepoconfError } from "../../shared/errors.ts";
import { limits } from "../../shared/limits.ts";

/**
 * Checks a message's arguments before anything else reads them: nesting, binary data, size. Without recursion, because the
 * transport accepts anything that fits into 4 MB. Returns their bytes as JSON. Throws RepoconfError 1101 or 1107.
 */
export function measureArguments(...given: readonly unknown[]): number {
  const waiting: { readonly value: object; readonly level: number }[] = [];
  const visit = (value: unknown, level: number) => {
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new RepoconfError(1101, "A number is too large for a 64-bit float. Send it as text.");
    }
    if (typeof value !== "object" || value === null) return;
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
      throw new RepoconfError(1101, "Messages cannot contain binary data. Send it as text.");
    }
    if (level > limits.messageNesting) {
      const message = `The arguments are nested deeper than ${limits.messageNesting} levels (the limit of a message).`;
      throw new RepoconfError(1107, message, { details: { limit: limits.messageNesting } });
    }
    waiting.push({ value, level });
  };
  for (const argument of given) visit(argument, 1);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, level } = next;
    for (const inner of Array.isArray(value) ? value : Object.values(value)) visit(inner, level + 1);
  }
  const bytes = given.reduce<number>((sum, argument) => sum + jsonBytes(argument), 0);
  if (bytes > limits.messageBytes) throw limitExceeded("bytes in a message", bytes, limits.messageBytes);
  return bytes;
}

/** Bytes of a value as JSON in UTF-8. */
export function jsonBytes(value: unknown): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
}
