import { daemon } from "./connection.ts";
import { screenStore } from "./store.ts";

/** Milliseconds between two reports to the daemon. */
const step = 60_000;

/** Reports to the daemon that a person is using this window: an unused session ends. */
export function announcePresence(): void {
  let reportedAt = 0;
  const report = () => {
    if (Date.now() - reportedAt < step || screenStore.getState().connection !== "connected") return;
    reportedAt = Date.now();
    daemon()
      .request("session/touch", {})
      // The next use reports it again.
      .catch(() => {});
  };
  for (const event of ["pointerdown", "wheel", "keydown"])
    document.addEventListener(event, report, { capture: true, passive: true });
}
