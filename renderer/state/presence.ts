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
      // The next use reports it again.
      .catch(() => {});
  };
  for (const event of ["pointerdown", "wheel", "keydown"])
    document.addEventListener(event, report, { capture: true, passive: true });
}
