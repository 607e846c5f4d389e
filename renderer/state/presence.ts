import { daemon } from "./connection.ts";
import { screenStore } from "./store.ts";

/** Milliseconds after which the daemon is told again. */
const step = 60_000;

/** Tells the daemon now and then that a person uses this window: a session that nobody uses ends. */
export function announcePresence(): void {
  let reportedAt = 0;
  const report = () => {
    if (Date.now() - reportedAt < step || screenStore.getState().connection !== "connected") return;
    reportedAt = Date.now();
    daemon()
      .request("session/touch", {})
      // The next use tells it again.
      .catch(() => {});
  };
  for (const event of ["pointerdown", "wheel", "keydown"])
    document.addEventListener(event, report, { capture: true, passive: true });
}
