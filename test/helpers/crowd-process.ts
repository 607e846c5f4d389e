/** Many watching clients in one process, for a crowd that comes in a message. Counts events and reports when asked. */
import { openSocket } from "./open-socket.ts";
import { patience } from "./patience.ts";

/** Sent to the process first; its arguments would show the key to others. */
export interface Crowd {
  readonly url: string;
  readonly key: string;
  readonly count: number;
  /** What they watch; omitted: everything. */
  readonly repo?: string;
}

/** Sent by the process. */
export interface CrowdReport {
  readonly events: number;
  /** The number of lost connections. */
  readonly lost: number;
}

let events = 0;
let lost = 0;

async function join({ url, key, repo }: Crowd): Promise<void> {
  const socket = await openSocket(url, key);
  socket.on("svc", () => events++);
  socket.on("disconnect", () => lost++);
  await socket.timeout(patience).emitWithAck("svc", "config", "watch", { ...(repo !== undefined && { repo }) });
}

process.once("message", async (crowd: Crowd) => {
  for (let joined = 0; joined < crowd.count; joined += 20)
    await Promise.all(Array.from({ length: Math.min(20, crowd.count - joined) }, () => join(crowd)));
  const report = () => process.send?.({ events, lost } satisfies CrowdReport);
  process.on("message", report);
  report();
});
process.on("disconnect", () => process.exit());
