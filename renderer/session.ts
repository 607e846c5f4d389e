import type { Address } from "../shared/client/client.ts";
import { webCodeCredentials, webSessionCredentials } from "../shared/client/web-credentials.ts";
import { shell } from "./shell.ts";
import { addressOf } from "./state/place.ts";
import { screenStore } from "./state/store.ts";

/** Where the session is while the window is open: not a cookie, for cookies are shared by all ports. */
const storageName = "repoconf.session";

/** The daemon of this window, and its session there: asked again before each connect. */
export type Locate = () => Promise<Address>;

/** The session that this window has, or gets for the code in its address, which is then taken out of it. */
export async function openSession(): Promise<Locate | undefined> {
  if (shell !== undefined) return shellAddress;
  const code = partsOf(codeInAddress());
  if (hasCode()) history.replaceState(history.state, "", addressOf(screenStore.getState().place));
  if (code !== undefined) return at(webCodeCredentials(...code, keepSession));
  const kept = partsOf(storage()?.getItem(storageName) ?? null);
  return kept && at(await webSessionCredentials(...kept));
}

/** Whether the window's address has the code of a link. */
export function hasCode(): boolean {
  return codeInAddress() !== null;
}

function codeInAddress(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get("code");
}

/** `ID.SECRET`, as it stands in a link and in the window's storage. */
function partsOf(text: string | null): readonly [id: string, secret: string] | undefined {
  const [, id, secret] = /^([0-9a-f]{12})\.([0-9a-f]{64})$/.exec(text ?? "") ?? [];
  return id === undefined || secret === undefined ? undefined : [id, secret];
}

/** The session has ended. */
export function forgetSession(): void {
  storage()?.removeItem(storageName);
}

/** Undefined where the browser lets the page keep nothing. */
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
  // Where a browser keeps nothing, the session ends with a reload.
  storage()?.setItem(storageName, `${id}.${secret}`);
}

async function shellAddress(): Promise<Address> {
  if (shell === undefined) throw new Error("this page is not running in the desktop app");
  const { url, id, secret } = await shell.session();
  return { url, credentials: await webSessionCredentials(id, secret) };
}
