import { createCipheriv, createDecipheriv, createHash, randomFillSync } from "node:crypto";
import { RepoconfError } from "../../shared/errors.ts";
import { formatPosition, type Position } from "./store/log/commit-log.ts";

/*
 * A position as clients are told it: one block, encrypted with what only the disk knows, the log's id. In clear its number
 * would tell a key how much happens where it may see nothing; the same text twice, that nothing does. The block is four zeros,
 * four bytes of chance, and the number.
 */

const cipher = "aes-128-ecb";

export function sealPosition(position: Position): string {
  const [log = "", number] = position.split(".");
  const block = randomFillSync(Buffer.alloc(16), 4, 4);
  block.writeBigUInt64BE(BigInt(number ?? 0), 8);
  const sealing = createCipheriv(cipher, keyOf(log), null).setAutoPadding(false);
  return Buffer.concat([sealing.update(block), sealing.final()]).toString("base64url");
}

/** The position of a log, the one that `current` is of. Throws RepoconfError 1110 if it is of another, or none. */
export function openPosition(text: string, current: Position): Position {
  const [log = ""] = current.split(".");
  const sealed = Buffer.from(text, "base64url");
  if (sealed.length === 16) {
    const opening = createDecipheriv(cipher, keyOf(log), null).setAutoPadding(false);
    const block = Buffer.concat([opening.update(sealed), opening.final()]);
    // Of another log it would be a random number.
    if (block.readUInt32BE(0) === 0) return formatPosition(log, Number(block.readBigUInt64BE(8)));
  }
  const message =
    "The position is none of this home's log, as after a restore of a backup. Read the values anew, and watch from the position in details.";
  throw new RepoconfError(1110, message, { details: { position: sealPosition(current) } });
}

function keyOf(log: string): Buffer {
  return createHash("sha256").update(`position ${log}`).digest().subarray(0, 16);
}
