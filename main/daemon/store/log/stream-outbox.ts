import { randomUUID } from "node:crypto";
import { RepoconfError } from "../../../../shared/errors.ts";
import type { Clock } from "../../../clock.ts";
import { AppendError, type Appending, type LogNumber } from "./commit-log.ts";
import type { StreamConflicts } from "./stream-conflicts.ts";
import { formatContent } from "./stream-content.ts";
import type { Place } from "./stream-place.ts";
import type { Published, StreamSession } from "./stream-session.ts";

/** Milliseconds between two tries to append where the server has no answer for now. */
const retryPause = 100;
/** How long, in milliseconds, a message that is known to be there may take to arrive before another connection is made. */
const arrivalTime = 1_000;
/** What one message takes at most, but for an entry that is larger by itself. */
const groupBytes = 512 * 1024;
/** An entry that is larger than a part of a snapshot is in a part by itself one day, beside which there is room for the part. */
const roomInPart = 1024;
/** What is around the entries in a message, at most: its limit counts that too. */
const headerBytes = 512;

export interface StreamOutboxOptions {
  readonly clock: Clock;
  readonly conflicts: StreamConflicts;
  /** Throws if the home is no longer this daemon's. */
  assertHeld(): void;
  /** Whether messages have arrived that are not taken in yet. */
  hasArrived(): boolean;
  /** There may be something to be sent. */
  wake(): void;
}

interface Waiting extends Appending {
  readonly json: string;
  /** Calls off the end of waiting. */
  cancel(): void;
  resolve(): void;
  reject(error: Error): void;
}

/** A message that was sent, or is about to be, and that nobody knows the outcome of yet. */
export interface Flight {
  readonly id: string;
  readonly data: Uint8Array;
  readonly group: readonly Waiting[];
  /** Another message is in its place, which has not arrived yet. */
  isBeaten: boolean;
}

/**
 * What is to be appended. One message is on its way at a time; what is asked for meanwhile is the next one. It is sent, with the same id, until
 * it is known what became of it, or until its callers give up.
 */
export class StreamOutbox {
  readonly #options: StreamOutboxOptions;
  #waiting: Waiting[] = [];
  #flight: Flight | undefined;
  /** What has been asked for and not been answered. */
  readonly #pending = new Set<Promise<void>>();

  constructor(options: StreamOutboxOptions) {
    this.#options = options;
  }

  get flight(): Flight | undefined {
    return this.#flight;
  }

  /** Whether there is anything to be sent, as far as is known now. */
  get hasWork(): boolean {
    return this.#flight === undefined ? this.#waiting.length > 0 : !this.#flight.isBeaten;
  }

  /** Resolves when it is in the stream; `time`: milliseconds until nobody waits for that any more. */
  append(appending: Appending, time: number): Promise<void> {
    const appended = new Promise<void>((resolve, reject) => {
      const waiting: Waiting = {
        ...appending,
        json: JSON.stringify(appending.entries).slice(1, -1),
        cancel: this.#options.clock.schedule(time, () => this.#giveUp(waiting)),
        resolve,
        reject,
      };
      this.#waiting.push(waiting);
      this.#options.wake();
    });
    this.#pending.add(appended);
    const settled = () => void this.#pending.delete(appended);
    appended.then(settled, settled);
    return appended;
  }

  /** Resolves when all have their answer: each gives up by itself after a while. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#pending);
  }

  /** Others changed something: anyone who waits with what is stale by it is told at once, for what came may not get to him meanwhile. */
  rejectBeaten(taken: LogNumber): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) {
      const conflict = this.#options.conflicts.of(one, taken);
      if (conflict === undefined) this.#waiting.push(one);
      else reject(one, conflict);
    }
  }

  /** Another message is in the place that was to be ours: it is not in the stream, and never will be. */
  makeAgain(): void {
    this.#waiting.unshift(...this.#endFlight());
  }

  /** What became of the message will not be known. */
  lose(): void {
    for (const waiting of this.#endFlight()) reject(waiting, unreachable(true));
  }

  /** Nothing can be appended any more. */
  refuseAll(): void {
    this.lose();
    for (const waiting of this.#waiting.splice(0)) reject(waiting, unreachable(false));
  }

  /** The connection has ended: the message is sent once more, right behind what is known by then. */
  sendAgain(): void {
    if (this.#flight !== undefined) this.#flight.isBeaten = false;
  }

  /** The message is in the stream: each of its group is called back with the number of its first entry, in their order. */
  land(first: LogNumber, committed: (appended: Appending, first: LogNumber) => void): void {
    let number = first;
    for (const waiting of this.#endFlight()) {
      committed(waiting, number);
      number += waiting.entries.length;
      waiting.cancel();
      waiting.resolve();
    }
  }

  /** Sends the message behind a place; answers it if it is known to be stored there. `isCurrent`: the session is still in use. */
  async send(session: StreamSession, place: Place, isCurrent: () => boolean): Promise<Flight | undefined> {
    const flight = this.#flight ?? this.#next(place, session.mostBytes);
    if (flight === undefined) return undefined;
    this.#flight = flight;
    const { assertHeld, hasArrived, clock } = this.#options;
    let published: Published;
    try {
      assertHeld();
      published = await session.publish(flight.id, flight.data, place.sequence);
    } catch (error) {
      if (this.#flight === flight)
        for (const waiting of this.#endFlight()) reject(waiting, new AppendError(error, false));
      return undefined;
    }
    // Its callers gave up: if it is there, it comes by.
    if (this.#flight !== flight) return undefined;
    if (published === "stored") return flight;
    if (published === "conflict") {
      flight.isBeaten = !hasArrived();
      // What sends messages may have gone with a server of a cluster.
      if (flight.isBeaten) clock.schedule(arrivalTime, () => this.#hurry(flight, session));
    } else if (isCurrent()) await clock.delay(retryPause);
    return undefined;
  }

  #hurry(flight: Flight, session: StreamSession): void {
    if (this.#flight === flight && flight.isBeaten && !this.#options.hasArrived()) void session.close();
  }

  #next({ number, message }: Place, mostBytes: number): Flight | undefined {
    const group: Waiting[] = [];
    let bytes = 0;
    const most = mostBytes - headerBytes;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const more = Buffer.byteLength(next.json) + 64;
      const isBegin = next.entries[0]?.kind === "snapshot";
      // What is before the message that begins a snapshot can go.
      if (group.length > 0 && (isBegin || bytes + more > Math.min(groupBytes, most))) break;
      this.#waiting.shift();
      const isPart = next.entries[0]?.kind === "part";
      if (more + (isPart ? 0 : roomInPart) > most) {
        reject(next, new AppendError(tooLarge(more, most), false));
        continue;
      }
      bytes += more;
      group.push(next);
    }
    if (group.length === 0) return undefined;
    const place = { first: number + 1, previous: message };
    const texts = group.map(({ json }) => json);
    return { id: randomUUID(), data: Buffer.from(formatContent(place, texts)), group, isBeaten: false };
  }

  #giveUp(waiting: Waiting): void {
    if (this.#flight?.group.includes(waiting)) {
      // Nobody waits for it any more; should it be there, it comes by as a change like those of others.
      this.lose();
      this.#options.wake();
      return;
    }
    const index = this.#waiting.indexOf(waiting);
    if (index === -1) return;
    this.#waiting.splice(index, 1);
    reject(waiting, unreachable(false));
  }

  #endFlight(): readonly Waiting[] {
    const { group = [] } = this.#flight ?? {};
    this.#flight = undefined;
    return group;
  }
}

function reject(waiting: Waiting, error: Error): void {
  waiting.cancel();
  waiting.reject(error);
}

export function unreachable(isOutcomeUnknown: boolean): AppendError {
  return new AppendError(new Error("cannot reach the server of the shared log"), isOutcomeUnknown);
}

function tooLarge(given: number, limit: number): RepoconfError {
  const message = `The change takes ${given} bytes in the shared log, and one message of its server at most ${limit}; nothing was changed. Change fewer repositories or smaller values at once, or raise max_payload of the server.`;
  return new RepoconfError(1107, message, { details: { given, limit } });
}
