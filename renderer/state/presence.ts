import { daemon } from "./connection.ts";
import { screenStore } from "./store.ts";

/** The minimum time between two reports to the daemon, in milliseconds. */
const step = 60_000;

/** Reports to the daemon that a person is using this window, because an unused session ends. */
export function announcePresence(): void {
  let reportedAt = 0;
  const report = () => {
    if (Date.now() - reportedAt < step || screenStore.getState().connection !== "connected") return;
    reportedAt = Date.now();
    daemon()
      .request("session/touch", {})
      .catch(() => {
        // The next use reports it again.
        reportedAt = 0;
      });
  };
  for (const event of ["pointerdown", "wheel", "keydown"])
    document.addEventListener(event, report, { capture: true, passive: true });
}
