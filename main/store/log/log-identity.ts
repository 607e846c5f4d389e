import { randomBytes } from "node:crypto";
import type { LogNumber, Position } from "../types.ts";
import { formatPosition, parsePosition } from "./commit-log.ts";
import type { LogOrigin } from "./frame.ts";

/** The id of a log, how it began, and its last number. Numbers go on from log to log, so each is given once. */
interface LogIdentity {
  readonly id: string;
  readonly origin: LogOrigin;
  readonly newest: LogNumber;
}

/** The maximum of earlier logs that are remembered. */
const mostPredecessors = 20;

export function newLogId(): string {
  return randomBytes(6).toString("hex");
}

/** The number of a position of this log or of a predecessor; undefined for one that was given and that this log does not have. */
export function numberOfPosition(position: Position, { id, origin, newest }: LogIdentity): LogNumber | undefined {
  const { log, number } = parsePosition(position);
  const predecessors = origin.predecessors.map(parsePosition);
  const last = log === id ? newest : (predecessors.find(one => one.log === log)?.number ?? -1);
  return number > last ? undefined : number;
}

/** A new identity behind all these positions. `lost` and `copiedAt` are what is found now. */
export function renewed(
  { id, origin, newest }: LogIdentity,
  known: readonly Position[],
  { lost, copiedAt = origin.copiedAt }: Omit<LogOrigin, "predecessors">,
): LogIdentity {
  const ends = new Map<string, LogNumber>();
  for (const position of [...origin.predecessors, formatPosition(id, newest), ...known]) {
    const { log, number } = parsePosition(position);
    ends.set(log, Math.max(number, ends.get(log) ?? 0));
  }
  const predecessors = [...ends].map(([log, number]) => formatPosition(log, number)).slice(-mostPredecessors);
  return {
    id: newLogId(),
    origin: { predecessors, lost: [...origin.lost, ...lost], ...(copiedAt !== undefined && { copiedAt }) },
    newest: Math.max(newest, ...ends.values()),
  };
}
