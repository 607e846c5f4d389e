import { shell } from "./shell.ts";

/** Where the session's key is while the window is open: not a cookie, for cookies are shared by all ports. */
const storageName = "repoconf.session";

export type SessionState =
  | { readonly kind: "key"; readonly key: string }
  | { readonly kind: "none"; readonly reason?: string };

/** The session that this window has, or gets for the code in its address, which is then taken out of it. */
export async function openSession(): Promise<SessionState> {
  if (shell !== undefined) return { kind: "key", key: await shell.session() };
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code !== null) {
    history.replaceState(history.state, "", location.pathname);
    const response = await fetch("/session", { method: "POST", body: JSON.stringify({ code }) }).catch(() => undefined);
    if (response?.ok) {
      const { key }: { key: string } = await response.json();
      sessionStorage.setItem(storageName, key);
      return { kind: "key", key };
    }
    const kept = sessionStorage.getItem(storageName);
    if (kept !== null) return { kind: "key", key: kept };
    const reason = response === undefined ? "The daemon does not answer." : (await response.text()).trim();
    return { kind: "none", reason };
  }
  const key = sessionStorage.getItem(storageName);
  return key === null ? { kind: "none" } : { kind: "key", key };
}

/** The key is no good any more. */
export function forgetSession(): void {
  sessionStorage.removeItem(storageName);
}
