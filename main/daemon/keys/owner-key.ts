import { keyIdOf } from "../../../shared/api-key.ts";
import { keyRights, ownerGrants } from "../../../shared/grants.ts";
import { describeCause } from "../../files/describe-cause.ts";
import type { FileSystem } from "../../files/file-system.ts";
import { readUntil } from "../../files/read-until.ts";
import type { Home } from "../../home/home.ts";
import { HomeError, privateFile } from "../../home/prepare-home.ts";
import type { Clock } from "../../time/clock.ts";
import type { Caller } from "./caller.ts";
import { hashKey, newKeyText } from "./key-text.ts";

/** The owner's key. */
export interface Owner {
  /** The id in the key's text. */
  readonly id: string;
  /** SHA-256 of the key's text, hexadecimal. */
  readonly hash: string;
  /** Belongs to this key only: it becomes invalid when the key is replaced. */
  readonly caller: Caller;
}

/**
 * Reads the owner's key, or creates it if there is none. Throws HomeError if its file contains no key. `making` is called with a new
 * key before its file exists, so that anyone who reads the file can connect at once.
 */
export async function openOwnerKey(
  home: Home,
  fileSystem: FileSystem,
  making: (owner: Owner) => void = () => {},
): Promise<{ readonly owner: Owner; readonly isNew: boolean }> {
  const file = privateFile(home, home.ownerKeyFile, fileSystem);
  let text: string | null;
  try {
    text = await file.read();
  } catch (error) {
    throw new HomeError(
      `${home.ownerKeyFile} is invalid: ${describeCause(error)}. Make it readable, or move it away: the next start creates a new key, and other keys stay valid.`,
    );
  }
  if (text === null) {
    const { key } = newKeyText();
    const owner = ownerOf(key);
    making(owner);
    await file.write(`${key}\n`);
    return { owner, isNew: true };
  }
  const key = assertKey(home, text);
  await file.makePrivate();
  return { owner: ownerOf(key), isNew: false };
}

/** Reads the key while the daemon runs; undefined if the file is missing and stays missing. Throws as `openOwnerKey`. */
export async function findOwnerKey(home: Home, clock: Pick<Clock, "delay">): Promise<string | undefined> {
  const file = privateFile(home, home.ownerKeyFile);
  const text = await readUntil(
    clock,
    () => file.read(),
    found => found !== null && keyIdOf(found.trim()) !== undefined,
  );
  return text === null ? undefined : assertKey(home, text);
}

function assertKey(home: Home, text: string): string {
  const key = text.trim();
  if (keyIdOf(key) !== undefined) return key;
  throw new HomeError(`${home.ownerKeyFile} does not contain a key. Remove the file: the daemon creates a new one.`);
}

function ownerOf(key: string): Owner {
  const actor = { kind: "key", id: "owner", name: "owner" } as const;
  const caller: Caller = { keyId: "owner", name: "owner", owner: true, actor, grants: ownerGrants, rights: keyRights };
  return { id: keyIdOf(key) ?? "", hash: hashKey(key), caller };
}
