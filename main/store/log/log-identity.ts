import { randomBytes } from "node:crypto";
import type { LogNumber, Position } from "../types.ts";
import { formatPosition, parsePosition } from "./commit-log.ts";
import type { LogOrigin } from "./frame.ts";

/** The maximum of earlier logs that are remembered. */
const mostPredecessors = 20;

/** The id of a log, and how it began. Numbers go on from log to log, so each is given once. */
export class LogIdentity {
  readonly id: string;
  readonly origin: LogOrigin;

  constructor(id = randomBytes(6).toString("hex"), origin: LogOrigin = { predecessors: [], lost: [] }) {
    this.id = id;
    this.origin = origin;
  }

  /** The number of a position of this log or of a predecessor; 0 for any other. */
  numberOf(position: Position | undefined, newest: LogNumber): LogNumber {
    return position === undefined || this.isBeyond(position, newest) ? 0 : parsePosition(position).number;
  }

  /** Whether a log that ends at `newest` does not have a position that was given. */
  isBeyond(position: Position, newest: LogNumber): boolean {
    const { log, number } = parsePosition(position);
    if (log === this.id) return number > newest;
    const last = this.origin.predecessors.map(parsePosition).find(one => one.log === log);
    return last === undefined || number > last.number;
  }

  /** A new identity behind all these positions. `lost` and `copiedAt` are what is found now. */
  renewed(
    known: readonly Position[],
    newest: LogNumber,
    { lost, copiedAt = this.origin.copiedAt }: Omit<LogOrigin, "predecessors">,
  ): { readonly identity: LogIdentity; readonly newest: LogNumber } {
    const ends = new Map<string, LogNumber>();
    for (const position of [...this.origin.predecessors, formatPosition(this.id, newest), ...known]) {
      const { log, number } = parsePosition(position);
      ends.set(log, Math.max(number, ends.get(log) ?? 0));
    }
    const predecessors = [...ends].map(([log, number]) => formatPosition(log, number)).slice(-mostPredecessors);
    const origin = { predecessors, lost: [...this.origin.lost, ...lost], ...(copiedAt !== undefined && { copiedAt }) };
    return { identity: new LogIdentity(undefined, origin), newest: Math.max(newest, ...ends.values()) };
  }
}
