import { createCipheriv, createDecipheriv, createHash, randomFillSync } from "node:crypto";
import { RepoconfError } from "../../../shared/errors.ts";
import type { HistoryPlace } from "../../store/history/merged-history.ts";
import { formatPosition, parsePosition } from "../../store/log/commit-log.ts";
import type { Store } from "../../store/store.ts";
import type { Position } from "../../store/types.ts";

/*
 * A position as clients get it: one block, encrypted with the log's id, which is only on disk. An unencrypted number would reveal
 * how much happens where a key may see nothing; the same text twice would reveal that nothing does. The block is four zero bytes,
 * four random bytes, and the number.
 */

const cipher = "aes-128-ecb";

export function sealPosition(position: Position): string {
  const [log = "", number] = position.split(".");
  const block = randomFillSync(Buffer.alloc(16), 4, 4);
  block.writeBigUInt64BE(BigInt(number ?? 0), 8);
  const sealing = createCipheriv(cipher, keyOf(log), null).setAutoPadding(false);
  return Buffer.concat([sealing.update(block), sealing.final()]).toString("base64url");
}

/**
 * The position in the store's log. Throws RepoconfError 1110 if it belongs to another log, or is no position, or if the log cannot have
 * it: then an older copy of the home was put back.
 */
export function openPosition(text: string, store: Pick<Store, "position" | "mayHave">): Position {
  const { log } = parsePosition(store.position);
  const sealed = Buffer.from(text, "base64url");
  if (sealed.length === 16) {
    const opening = createDecipheriv(cipher, keyOf(log), null).setAutoPadding(false);
    const block = Buffer.concat([opening.update(sealed), opening.final()]);
    // A position of another log would decrypt to random bytes.
    const number = Number(block.readBigUInt64BE(8));
    if (block.readUInt32BE(0) === 0 && store.mayHave(number)) return formatPosition(log, number);
  }
  const message =
    "The position does not belong to this home's log, for example because a backup was restored. Read the values again, and watch from the position in details.";
  throw new RepoconfError(1110, message, { details: { position: sealPosition(store.position) } });
}

function keyOf(log: string): Buffer {
  return createHash("sha256").update(`position ${log}`).digest().subarray(0, 16);
}

/** Where a page of the history of all repositories ended. Sealed, because that may be an entry that the key cannot see. */
export function sealPlace(place: HistoryPlace, current: Position): string {
  const nonce = randomFillSync(Buffer.alloc(12));
  const sealing = createCipheriv("aes-256-gcm", placeKeyOf(current), nonce);
  const sealed = [sealing.update(JSON.stringify([place.number, place.repo, place.revision])), sealing.final()];
  return Buffer.concat([nonce, ...sealed, sealing.getAuthTag()]).toString("base64url");
}

/** Throws RepoconfError 1101 if it is not a place in this home's log. */
export function openPlace(text: string, current: Position): HistoryPlace {
  const bytes = Buffer.from(text, "base64url");
  try {
    const opening = createDecipheriv("aes-256-gcm", placeKeyOf(current), bytes.subarray(0, 12));
    opening.setAuthTag(bytes.subarray(-16));
    const opened = Buffer.concat([opening.update(bytes.subarray(12, -16)), opening.final()]);
    // Only text that was sealed here can be decrypted.
    const [number, repo, revision] = JSON.parse(opened.toString()) as [number, string, number];
    return { number, repo, revision };
  } catch {
    throw new RepoconfError(
      1101,
      "Pass the next of the previous page as after. If a backup of the home was restored in the meantime, start again without it.",
    );
  }
}

function placeKeyOf(position: Position): Buffer {
  const [log = ""] = position.split(".");
  return createHash("sha256").update(`place ${log}`).digest();
}
