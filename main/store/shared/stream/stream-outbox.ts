import { randomUUID } from "node:crypto";
import { RepoconfError } from "../../../../shared/errors.ts";
import type { Clock } from "../../../time/clock.ts";
import { AppendError, type AppendRequest, ConflictError, type LogEntry } from "../../log/commit-log.ts";
import type { LogNumber } from "../../types.ts";
import { FullLogError } from "./full-log-error.ts";
import { type Content, formatContent } from "./stream-content.ts";
import type { StreamPosition } from "./stream-position.ts";
import type { Published, StreamSession } from "./stream-session.ts";

/** Milliseconds before a message is sent again whose outcome is unknown. */
const retryDelay = 100;
/** Milliseconds after a conflict to receive the conflicting message; after that, the connection is replaced. */
const receiveTimeout = 1_000;
/** The maximum size of a message, except for a single larger append. */
const maxGroupBytes = 512 * 1024;
/** Bytes that a snapshot part adds to a commit. Every commit must leave room for them, or no later snapshot could contain it. */
const partOverhead = 1024;
/** The maximum of bytes in a message besides its entries; the limit of the server includes them. */
const envelopeBytes = 512;

export interface StreamOutboxOptions {
  readonly clock: Clock;
  /** Throws if the home is no longer this daemon's. */
  assertHeld(): void;
  /** Whether there are received messages that are not applied yet. */
  hasReceived(): boolean;
  /** Called when there may be something to send. */
  wake(): void;
  /** Called when a message was stored, or with the error with which the server refused it. */
  onOutcome(refusal: unknown): void;
}

interface PendingAppend extends AppendRequest, PromiseWithResolvers<void> {
  readonly json: string;
  /** Its caller timed out while it was being published, and does not know the outcome. */
  isExpired: boolean;
  /** When it times out, by the clock's `monotonic()`. */
  readonly deadline: number;
  /** Cancels its timeout. */
  cancel(): void;
}

/** A message that is being published and whose outcome is not known yet. */
export interface InFlight {
  readonly id: string;
  readonly data: Uint8Array;
  readonly group: readonly PendingAppend[];
  /** The server reported a conflict: another message took its position, and has not been received yet. */
  isSuperseded: boolean;
}

/**
 * Publishes appends, and rejects those that were decided on a state that other machines have changed since. One message is in flight at a time; appends in the meantime become the next one. A message is sent with the same
 * id until its outcome is known, or until its callers time out.
 */
export class StreamOutbox {
  readonly #options: StreamOutboxOptions;
  #queue: PendingAppend[] = [];
  #inFlight: InFlight | undefined;
  /** The newest entry of another machine, by repository. */
  readonly #newestForeign = new Map<string, LogNumber>();
  /** The newest entry of another machine that may have changed any repository. */
  #newestForeignToAll: LogNumber = 0;
  /** Conflicts whose `applied` resolves when this entry is applied, or after a timeout: it may never be. */
  #conflicts: { readonly number: LogNumber; resolve(): void; cancel(): void }[] = [];

  constructor(options: StreamOutboxOptions) {
    this.#options = options;
  }

  get inFlight(): InFlight | undefined {
    return this.#inFlight;
  }

  /** Whether there is anything to send now. */
  get hasWork(): boolean {
    return this.#inFlight === undefined ? this.#queue.length > 0 : !this.#inFlight.isSuperseded;
  }

  /** Resolves when the entries are in the stream; rejects at a conflict, or after `timeout` milliseconds. `applied`: the newest applied entry. */
  async append(request: AppendRequest, timeout: number, applied: LogNumber): Promise<void> {
    if (timeout <= 0) throw failed(false);
    const { clock } = this.#options;
    const deadline = clock.monotonic() + timeout;
    const conflict = this.#conflictOf(request, deadline, applied);
    if (conflict !== undefined) throw conflict;
    const pending: PendingAppend = {
      ...request,
      ...Promise.withResolvers<void>(),
      json: JSON.stringify(request.entries).slice(1, -1),
      isExpired: false,
      deadline,
      cancel: clock.schedule(timeout, () => this.#expire(pending)),
    };
    this.#queue.push(pending);
    this.#options.wake();
    await pending.promise;
  }

  /** Resolves when every append is settled, at the latest after its timeout. */
  async settled(): Promise<void> {
    const { group = [] } = this.#inFlight ?? {};
    await Promise.allSettled([...group, ...this.#queue].map(({ promise }) => promise));
  }

  /**
   * Call when a message of another machine is received: appends that conflict with it are rejected at once, because applying it may
   * have to wait for their callers.
   */
  recordForeign({ first, entries }: Pick<Content, "first" | "entries">, applied: LogNumber): void {
    for (const [index, entry] of entries.entries()) {
      const repos = entry && repositoriesOf(entry);
      if (repos === undefined) this.#newestForeignToAll = first + index;
      for (const repo of repos ?? []) this.#newestForeign.set(repo, first + index);
    }
    const queued = this.#queue;
    this.#queue = [];
    for (const pending of queued) {
      const conflict = this.#conflictOf(pending, pending.deadline, applied);
      if (conflict === undefined) this.#queue.push(pending);
      else reject(pending, conflict);
    }
  }

  #conflictOf({ entries, after }: AppendRequest, deadline: number, applied: LogNumber): ConflictError | undefined {
    const repos = entries.flatMap(entry => repositoriesOf(entry) ?? []);
    const numbers = repos.map(repo => this.#newestForeign.get(repo) ?? 0);
    const newest = Math.max(this.#newestForeignToAll, ...numbers);
    if (newest <= after) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    if (newest <= applied) resolve();
    else {
      const { clock } = this.#options;
      const cancel = clock.schedule(Math.max(0, deadline - clock.monotonic()), resolve);
      this.#conflicts.push({ number: newest, resolve, cancel });
    }
    return new ConflictError(promise);
  }

  /** Call when everything up to this entry is applied: callers that wait for it can decide again. */
  applied(through: LogNumber): void {
    const ready = this.#conflicts.filter(({ number }) => number <= through);
    this.#conflicts = this.#conflicts.filter(({ number }) => number > through);
    for (const { resolve, cancel } of ready) {
      cancel();
      resolve();
    }
  }

  /** Another message took the position of the one in flight, which will never be in the stream: its appends are queued again. */
  requeue(): void {
    this.#queue.unshift(...this.#clearInFlight().filter(({ isExpired }) => !isExpired));
  }

  /** Rejects the appends of the message in flight as having an unknown outcome. */
  failInFlight(why?: string): void {
    for (const pending of this.#clearInFlight()) reject(pending, failed(true, why));
  }

  /** Rejects all appends, because nothing can be appended. Those that wait for a conflict are decided again, and rejected then. */
  rejectAll(why: string): void {
    this.failInFlight(why);
    for (const pending of this.#queue.splice(0)) reject(pending, failed(false, why));
    this.applied(Number.POSITIVE_INFINITY);
  }

  /** Lets the message in flight be sent again after a reconnect, right after the last applied message. */
  allowRetry(): void {
    if (this.#inFlight !== undefined) this.#inFlight.isSuperseded = false;
  }

  /**
   * The message in flight is in the stream: returns its appends, in order. Those that are expired are to be applied like other machines'
   * entries, with which later appends may conflict. `first`: the number of the message's first entry.
   */
  take(first: LogNumber): readonly PendingAppend[] {
    const group = this.#clearInFlight();
    let number = first;
    for (const { isExpired, entries } of group) {
      if (isExpired) this.recordForeign({ first: number, entries }, first - 1);
      number += entries.length;
    }
    return group;
  }

  /** Publishes a message right after a position; returns it if it was stored there. */
  async send(session: StreamSession, position: StreamPosition): Promise<InFlight | undefined> {
    const inFlight = this.#inFlight ?? this.#buildMessage(position, session.maxPayload);
    if (inFlight === undefined) return undefined;
    this.#inFlight = inFlight;
    const { assertHeld, hasReceived, clock, onOutcome } = this.#options;
    let published: Published;
    try {
      assertHeld();
      published = await session.publish(inFlight.id, inFlight.data, position.sequence);
      if (published === "stored") onOutcome(undefined);
    } catch (error) {
      onOutcome(error);
      const isOutcomeUnknown = error instanceof FullLogError && error.isOutcomeUnknown;
      if (this.#inFlight === inFlight)
        for (const pending of this.#clearInFlight()) reject(pending, new AppendError(error, isOutcomeUnknown));
      return undefined;
    }
    // Its callers timed out. If it is in the stream, it is received like the messages of others.
    if (this.#inFlight !== inFlight) return undefined;
    if (published === "stored") return inFlight;
    if (published === "conflict") {
      inFlight.isSuperseded = !hasReceived();
      // The consumer that delivers messages may be lost with a server of the cluster.
      if (inFlight.isSuperseded) clock.schedule(receiveTimeout, () => this.#reconnectUnlessReceived(inFlight, session));
    } else await clock.delay(retryDelay);
    return undefined;
  }

  #reconnectUnlessReceived(inFlight: InFlight, session: StreamSession): void {
    if (this.#inFlight === inFlight && inFlight.isSuperseded && !this.#options.hasReceived()) void session.close();
  }

  #buildMessage({ number, message }: StreamPosition, maxPayload: number): InFlight | undefined {
    const group: PendingAppend[] = [];
    let bytes = 0;
    const limit = maxPayload - envelopeBytes;
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      const size = Buffer.byteLength(next.json) + 64;
      const isBegin = next.entries[0]?.kind === "snapshot";
      // A purge deletes the messages before the one that begins a snapshot, so nothing may precede it in the same message.
      if (group.length > 0 && (isBegin || bytes + size > Math.min(maxGroupBytes, limit))) break;
      this.#queue.shift();
      const isPart = next.entries[0]?.kind === "part";
      if (size + (isPart ? 0 : partOverhead) > limit) {
        reject(next, new AppendError(tooLarge(size, limit), false));
        continue;
      }
      bytes += size;
      group.push(next);
    }
    if (group.length === 0) return undefined;
    const position = { first: number + 1, previous: message };
    const texts = group.map(({ json }) => json);
    return { id: randomUUID(), data: Buffer.from(formatContent(position, texts)), group, isSuperseded: false };
  }

  #expire(pending: PendingAppend): void {
    const { group } = this.#inFlight ?? {};
    if (group?.includes(pending)) {
      pending.isExpired = true;
      reject(pending, failed(true));
      if (group.some(({ isExpired }) => !isExpired)) return;
      // If the message is in the stream all the same, it is received and applied like those of others.
      this.failInFlight();
      this.#options.wake();
      return;
    }
    const index = this.#queue.indexOf(pending);
    if (index === -1) return;
    this.#queue.splice(index, 1);
    reject(pending, failed(false));
  }

  #clearInFlight(): readonly PendingAppend[] {
    const { group = [] } = this.#inFlight ?? {};
    this.#inFlight = undefined;
    return group;
  }
}

function reject(pending: PendingAppend, error: Error): void {
  pending.cancel();
  pending.reject(error);
}

function failed(
  isOutcomeUnknown: boolean,
  why = "cannot reach the server of the shared log; repoconf status says more",
): AppendError {
  return new AppendError(new Error(why), isOutcomeUnknown);
}

function tooLarge(given: number, limit: number): RepoconfError {
  const message = `The change takes ${given} bytes in the shared log, and one message of its server at most ${limit}; nothing was changed. Change fewer repositories or smaller values at once, or raise max_payload of the server.`;
  return new RepoconfError(1107, message, { details: { given, limit } });
}

/** The repositories that an entry changes, or its scope as a name that no repository can have; undefined if it may change any of them. */
function repositoriesOf(entry: LogEntry): readonly string[] | undefined {
  switch (entry.kind) {
    case "commit":
      return entry.documents.map(({ repo }) => repo);
    case "snapshot":
    case "end":
      return undefined;
    case "scope":
      return [`scope ${entry.name}`];
    default:
      return [entry.repo];
  }
}
