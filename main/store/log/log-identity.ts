import { randomBytes } from "node:crypto";
import type { LogNumber, Position } from "../types.ts";
import { formatPosition, parsePosition } from "./commit-log.ts";

/** The maximum of earlier logs that are remembered. */
const mostPredecessors = 20;

/** The id of a log, and the logs that it continues under a new id, each as its last position. Numbers go on, so each is given once. */
export class LogIdentity {
  readonly id: string;
  readonly predecessors: readonly Position[];

  constructor(id = randomBytes(6).toString("hex"), predecessors: readonly Position[] = []) {
    this.id = id;
    this.predecessors = predecessors;
  }

  /** The number of a position of this log or of a predecessor; 0 for any other. */
  numberOf(position: Position | undefined, newest: LogNumber): LogNumber {
    return position === undefined || this.isBeyond(position, newest) ? 0 : parsePosition(position).number;
  }

  /** Whether a log that ends at `newest` does not have a position that was given. */
  isBeyond(position: Position, newest: LogNumber): boolean {
    const { log, number } = parsePosition(position);
    if (log === this.id) return number > newest;
    const last = this.predecessors.map(parsePosition).find(one => one.log === log);
    return last === undefined || number > last.number;
  }

  /** A new identity behind all these positions. */
  renewed(
    known: readonly Position[],
    newest: LogNumber,
  ): { readonly identity: LogIdentity; readonly newest: LogNumber } {
    const ends = new Map<string, LogNumber>();
    for (const position of [...this.predecessors, formatPosition(this.id, newest), ...known]) {
      const { log, number } = parsePosition(position);
      ends.set(log, Math.max(number, ends.get(log) ?? 0));
    }
    const predecessors = [...ends].map(([log, number]) => formatPosition(log, number)).slice(-mostPredecessors);
    return { identity: new LogIdentity(undefined, predecessors), newest: Math.max(newest, ...ends.values()) };
  }
}
