import type { RepoconfClient } from "../../shared/client/client.ts";
import { screenStore } from "./store.ts";

/** Milliseconds between an answer and the next question. */
const pause = 4_000;
/** Milliseconds after which an answer is late. */
const patience = 2_000;

/**
 * Asks the daemon whether it answers, while somebody sees the page, and keeps `silentSince`: the system keeps the connection to a
 * daemon that is frozen for most of a minute. Resolves when the client is no longer the current one.
 */
export async function watchHeartbeat(client: RepoconfClient, isCurrent: () => boolean): Promise<void> {
  while (isCurrent()) {
    await new Promise(resolve => setTimeout(resolve, pause));
    const { connection, silentSince } = screenStore.getState();
    if (!isCurrent() || document.hidden || connection !== "connected") continue;
    const since = silentSince ?? Date.now();
    const late = setTimeout(() => screenStore.setState({ silentSince: since }), patience);
    const hasAnswered = await client.request("daemon/status", {}).then(
      () => true,
      () => false,
    );
    clearTimeout(late);
    if (hasAnswered) screenStore.setState({ silentSince: undefined });
  }
}
