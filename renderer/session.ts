import type { Address } from "../shared/client/address.ts";
import { webCodeCredentials, webSessionCredentials } from "../shared/client/web-credentials.ts";
import { shell } from "./shell.ts";
import { addressOf } from "./state/place.ts";
import { screenStore } from "./state/store.ts";

/** The storage name of the session while the window is open. Not a cookie, because all ports share cookies. */
const storageName = "repoconf.session";

/** Returns the daemon's address and the session there; called before each connect. */
export type Locate = () => Promise<Address>;

/** Returns the window's session, or exchanges the code in its address for one and removes the code from the address. */
export async function openSession(): Promise<Locate | undefined> {
  if (shell !== undefined) return shellAddress;
  const code = partsOf(codeInAddress());
  if (hasCode()) history.replaceState(history.state, "", addressOf(screenStore.getState().place));
  if (code !== undefined) return at(webCodeCredentials(...code, keepSession));
  const kept = partsOf(storage()?.getItem(storageName) ?? null);
  return kept && at(await webSessionCredentials(...kept));
}

/** Whether the window's address contains the code of a link. */
export function hasCode(): boolean {
  return codeInAddress() !== null;
}

function codeInAddress(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get("code");
}

/** `ID.SECRET`, the form used in a link and in the window's storage. */
function partsOf(text: string | null): readonly [id: string, secret: string] | undefined {
  const [, id, secret] = /^([0-9a-f]{12})\.([0-9a-f]{64})$/.exec(text ?? "") ?? [];
  return id === undefined || secret === undefined ? undefined : [id, secret];
}

/** Removes the session from the window's storage when it has ended. */
export function forgetSession(): void {
  storage()?.removeItem(storageName);
}

/** Undefined where the browser does not let the page store anything. */
function storage(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}

function at(credentials: Address["credentials"]): Locate {
  return async () => ({ url: location.origin, credentials });
}

function keepSession(id: string, secret: string): void {
  // Without storage, the session ends when the page is reloaded.
  storage()?.setItem(storageName, `${id}.${secret}`);
}

async function shellAddress(): Promise<Address> {
  if (shell === undefined) throw new Error("this page is not running in the desktop app");
  const { url, id, secret } = await shell.session();
  return { url, credentials: await webSessionCredentials(id, secret) };
}
