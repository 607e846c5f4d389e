import { mkdir } from "node:fs/promises";
import type { Clock } from "../../../clock.ts";
import type { FileSystem } from "../../../files/file-system.ts";
import {
  AppendError,
  type Appending,
  type CommitLog,
  type Committed,
  type Follower,
  type LogNumber,
  type OpenedLog,
  type Snapshots,
} from "./commit-log.ts";
import type { StreamAddress } from "./stream-address.ts";
import { StreamConflicts } from "./stream-conflicts.ts";
import { type Content, contentOf } from "./stream-content.ts";
import { type Flight, StreamOutbox, unreachable } from "./stream-outbox.ts";
import { type Place, StreamPlace } from "./stream-place.ts";
import { type StreamMessage, StreamSession } from "./stream-session.ts";
import { StreamSnapshots } from "./stream-snapshots.ts";

export interface StreamLogOptions {
  readonly address: StreamAddress;
  /** What this machine is called there. */
  readonly machine: string;
  /** Where it is kept how far this home has come. */
  readonly folder: string;
  readonly temporaryFolder: string;
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
  /** Called before each append; throws if the home is no longer this daemon's. */
  assertHeld(): void;
  onProblem(message: string, context: { readonly [name: string]: unknown }): void;
}

/**
 * How long, in milliseconds, an append waits for a server that does not answer, from when it ceased to. The others of a cluster take 4 to 8
 * seconds to elect another leader, and a client waits 10 for its reply.
 */
const appendTime = 9_000;
/** How long, in milliseconds, a start waits for it before what is known is served. */
const startTime = 3_000;
/** Milliseconds between two tries to connect: at first, and at most. */
const firstPause = 50;
const longestPause = 1_000;
/** Milliseconds between two questions whether the server still knows a leader. */
const leaderPause = 2_000;
/** A part of a snapshot takes at most this, but for an entry that is larger by itself. */
const partBytes = 256 * 1024;
/** How many messages wait to be taken in before no more are asked for. */
const mostArrived = 1_000;

interface Arrived {
  readonly message: StreamMessage;
  readonly content: Content;
}

/**
 * The log as a stream on a NATS server, which several daemons share. Each message is a group of entries, published with the
 * sequence that it is to follow: if another message is there, others were first, and what they appended comes before what is to be
 * appended. What is known by its message's id to be our own is committed; all else is handed to the follower.
 */
export class StreamLog implements CommitLog {
  readonly shared: { readonly machine: string };
  readonly #options: StreamLogOptions;
  readonly #kept: StreamPlace;
  #id: string | undefined;
  /** Up to here all is taken in. */
  #place: Place = { sequence: 0, number: 0, message: "" };
  #follower: Follower | undefined;
  #session: StreamSession | undefined;
  /** Arrived, and not taken in yet. */
  #arrived: Arrived[] = [];
  #arrivedSequence = 0;
  readonly #snapshots: StreamSnapshots;
  #bytes = 0;
  #hasMissed = false;
  readonly #conflicts = new StreamConflicts();
  readonly #outbox: StreamOutbox;
  /** All is taken in that was in the stream when the connection was made; only then is anything appended. */
  #isCurrent = false;
  /** Since when it is not, by the clock's `monotonic()`. */
  #awaySince: number;
  #problem: string | undefined;
  /** Why this home may not go on with the stream, whatever becomes of connections. */
  #divergence: string | undefined;
  #running: Promise<void> | undefined;
  #serving: Promise<void> | undefined;
  /** Called once all is taken in that is there, or it is known that this will never be. */
  #onTried: () => void = () => {};
  #isClosed = false;
  readonly #closed = Promise.withResolvers<void>();

  private constructor(options: StreamLogOptions) {
    const { machine, clock, assertHeld } = options;
    this.#options = options;
    this.shared = { machine };
    this.#snapshots = new StreamSnapshots(clock);
    this.#kept = new StreamPlace(options);
    this.#awaySince = clock.monotonic();
    this.#outbox = new StreamOutbox({
      clock,
      conflicts: this.#conflicts,
      assertHeld,
      hasArrived: () => this.#arrived.length > 0,
      wake: () => this.#wake(),
    });
  }

  /** Needs no server, unless the home follows no log yet. Throws an Error that says why it cannot be begun. */
  static async open(options: StreamLogOptions): Promise<OpenedLog> {
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    const log = new StreamLog(options);
    const kept = await log.#kept.read();
    if (kept === undefined) {
      const session = await StreamSession.open(options.address, true);
      log.#id = session.id;
      await session.close();
      await log.#keep();
    } else {
      const { id, stream, sequence, number, message } = kept;
      if (stream !== options.address.name)
        throw new Error(`This home uses the shared log ${stream}, not ${options.address.name}.`);
      log.#id = id;
      log.#place = { sequence, number, message };
    }
    return { log, entries: [], lost: 0, isCopy: false };
  }

  get id(): string {
    return this.#id ?? "";
  }

  get newest(): LogNumber {
    return this.#place.number;
  }

  get snapshots(): Snapshots {
    const { begun, ended, resumedAt, forgetting } = this.#snapshots;
    const most = Math.floor((this.#session?.mostBytes ?? partBytes) / 2);
    const known = { begun, ended, resumedAt, forgetting, hasMissed: this.#hasMissed, bytes: this.#bytes };
    return { ...known, partBytes: Math.min(partBytes, most) };
  }

  get problem(): string | undefined {
    if (this.#isCurrent) return undefined;
    return this.#divergence ?? this.#problem ?? this.#describe("not connected yet");
  }

  async follow(follower: Follower): Promise<void> {
    this.#follower = follower;
    const tried = new Promise<void>(resolve => {
      this.#onTried = resolve;
    });
    this.#serving = this.#serve();
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.schedule(startTime, resolve);
    await Promise.race([tried, isLate]);
    cancel();
  }

  append(appending: Appending): Promise<void> {
    if (this.#isClosed) return Promise.reject(new AppendError(new Error("the log is closed"), false));
    if (this.#divergence !== undefined) return Promise.reject(new AppendError(new Error(this.#divergence), false));
    const conflict = this.#conflicts.of(appending, this.newest);
    if (conflict !== undefined) return Promise.reject(conflict);
    const { clock } = this.#options;
    const time = this.#isCurrent ? appendTime : this.#awaySince + appendTime - clock.monotonic();
    return time > 0 ? this.#outbox.append(appending, time) : Promise.reject(unreachable(false));
  }

  /** Every message is closed as it is. */
  async seal(): Promise<void> {}

  get hasSealed(): boolean {
    return this.#kept.hasReached;
  }

  async release(through: LogNumber): Promise<void> {
    const most = Math.min(through, (this.#snapshots.keepsFrom ?? Number.POSITIVE_INFINITY) - 1);
    if (this.#kept.release(most)) await this.#keep();
  }

  async erase(through: LogNumber): Promise<void> {
    if (this.#snapshots.ended <= through) throw new Error("there is no snapshot behind what is to be erased");
    await this.#purge();
  }

  /** What is before the newest snapshot goes. Everybody sees to it who takes in its end: the one who wrote it may have died. */
  async #purge(): Promise<void> {
    const sequence = this.#snapshots.purgeTo;
    if (sequence === undefined) return;
    const session = this.#session;
    if (session === undefined) throw new Error("cannot reach the server of the shared log");
    this.#bytes = await session.purge(sequence);
    this.#snapshots.purged(sequence);
  }

  #note(committed: Committed, sequence: number): void {
    this.#snapshots.note(committed, sequence);
    if (committed.entry.kind === "end") this.#purgeSoon();
  }

  #purgeSoon(): void {
    this.#purge().catch(error =>
      this.#options.onProblem("cannot remove old messages from the shared log", {
        error: String(error),
      }),
    );
  }

  renew(): Promise<void> {
    return Promise.reject(new Error("a shared log cannot be restarted by one of its machines"));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#outbox.settled();
    await this.#running;
    this.#closed.resolve();
    await this.#session?.close();
    await this.#serving;
    const { onProblem } = this.#options;
    // Without it the next start passes over what the histories have.
    if (this.#kept.isBehind)
      await this.#keep().catch(error =>
        onProblem("the place in the shared log cannot be kept", { error: String(error) }),
      );
    this.#conflicts.applied(Number.POSITIVE_INFINITY);
  }

  #keep(): Promise<void> {
    return this.#kept.keep({ id: this.id, stream: this.#options.address.name }, this.#place);
  }

  /** Connects, again and again, and takes in what comes. */
  async #serve(): Promise<void> {
    let pause = firstPause;
    while (!this.#isClosed && this.#divergence === undefined) {
      try {
        const session = await StreamSession.open(this.#options.address, this.#place.sequence === 0);
        this.#session = session;
        this.#bytes = session.bytes;
        if (!this.#isClosed) await this.#assertSame(session);
        pause = firstPause;
        await this.#followSession(session);
      } catch (error) {
        this.#reportProblem(error);
      }
      this.#isAway();
      await this.#session?.close();
      this.#session = undefined;
      if (this.#divergence !== undefined) this.#onTried();
      if (this.#isClosed) return;
      await Promise.race([this.#options.clock.delay(pause * (0.5 + Math.random() / 2)), this.#closed.promise]);
      pause = Math.min(2 * pause, longestPause);
    }
  }

  /** Whether the stream is the one that this home follows, and still has what was taken in. */
  async #assertSame(session: StreamSession): Promise<void> {
    const { sequence, message } = this.#place;
    const { name } = this.#options.address;
    const known = sequence > 0 && sequence >= session.first ? await session.messageAt(sequence) : undefined;
    if (session.id !== this.id)
      this.#divergence = `The shared log ${name} is not the one that this home uses: it was deleted and created again.`;
    else if (session.last < sequence || (known !== undefined && known.id !== message))
      this.#divergence = `The server has lost changes of the shared log ${name} that this home has.`;
    if (this.#divergence === undefined) return;
    this.#divergence +=
      " The last known values are served, and changes are refused. See docs/scaling.md for what to do.";
    throw new Error(this.#divergence);
  }

  async #followSession(session: StreamSession): Promise<void> {
    this.#arrived = [];
    this.#arrivedSequence = this.#place.sequence;
    const target = session.last;
    const check = () => {
      if (this.#isCurrent || this.#place.sequence < target || this.#session !== session) return;
      this.#isCurrent = true;
      this.#problem = undefined;
      this.#onTried();
      this.#follower?.onReachable();
      this.#purgeSoon();
      this.#wake();
    };
    this.#onApplied = check;
    check();
    if (this.#isClosed) return;
    void this.#watchLeader(session);
    await session.follow(this.#place.sequence, message => this.#arrive(message));
  }

  #onApplied: () => void = () => {};

  /** Without a leader for long another server may know one. */
  async #watchLeader(session: StreamSession): Promise<void> {
    for (let failures = 0; failures < 2; ) {
      await Promise.race([this.#options.clock.delay(leaderPause), session.ended]);
      if (this.#session !== session) return;
      failures = await session.askLeader().then(
        () => 0,
        () => failures + 1,
      );
    }
    await session.close();
  }

  async #arrive(message: StreamMessage): Promise<void> {
    if (message.sequence <= this.#arrivedSequence || message.sequence <= this.#place.sequence) return;
    this.#arrivedSequence = message.sequence;
    const content = contentOf(message);
    this.#arrived.push({ message, content });
    if (message.id !== this.#outbox.flight?.id) this.#touch(content);
    this.#wake();
    // Who was away for long has much to take in.
    if (this.#arrived.length > mostArrived) await this.#running;
  }

  /** Others changed this. */
  #touch(content: Content): void {
    this.#conflicts.touch(content);
    this.#outbox.rejectBeaten(this.newest);
  }

  #wake(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#hasWork) this.#wake();
    });
  }

  get #hasWork(): boolean {
    if (this.#arrived.length > 0) return true;
    return this.#outbox.hasWork && this.#isCurrent && this.#session !== undefined;
  }

  async #run(): Promise<void> {
    // What is asked for in one turn of the event loop is one message.
    await Promise.resolve();
    while (this.#hasWork) {
      const arrived = this.#arrived.shift();
      if (arrived !== undefined) await this.#take(arrived);
      else await this.#send();
    }
  }

  async #take({ message, content }: Arrived): Promise<void> {
    if (message.sequence <= this.#place.sequence) return;
    const begins = content.first > this.newest + 1 && content.entries[0]?.kind === "snapshot";
    const follows = content.first === this.newest + 1 && content.previous === this.#place.message;
    if (!follows && !begins) {
      this.#divergence = `Message ${message.sequence} of the shared log does not follow the last one that this home has.`;
      this.#reportProblem(new Error(this.#divergence));
      await this.#session?.close();
      return;
    }
    if (begins) this.#skipTo(content.first);
    const { flight } = this.#outbox;
    if (message.id === flight?.id) return this.#land(flight, message.sequence);
    // What was to be in this place is not, and never will be: its callers decide again, and the follower may be waiting for that.
    this.#outbox.makeAgain();
    // It may have been our own until its callers gave up.
    this.#touch(content);
    for (const [index, entry] of content.entries.entries())
      await this.#takeEntry({ number: content.first + index, entry }, message.sequence);
    this.#bytes += message.data.length;
    this.#reach({ sequence: message.sequence, number: this.newest, message: message.id });
    this.#onApplied();
  }

  /** What was in between is no longer in the stream: a snapshot has what is needed of it. */
  #skipTo(first: LogNumber): void {
    this.#snapshots.skipTo(first);
    this.#place = { ...this.#place, number: first - 1 };
    // It may have been among what is gone.
    this.#outbox.lose();
  }

  async #takeEntry(committed: Committed, sequence: number): Promise<void> {
    const { onProblem } = this.#options;
    this.#note(committed, sequence);
    for (const handed of this.#snapshots.handed(committed)) {
      let show = () => {};
      try {
        show = (await this.#follower?.prepare(handed)) ?? show;
      } catch (error) {
        // What is to be forgotten is tried again.
        this.#hasMissed ||= handed.entry.kind !== "forget";
        onProblem("a change from another machine could not be applied", {
          number: committed.number,
          error: String(error),
        });
      }
      this.#place = { ...this.#place, number: committed.number };
      try {
        show();
      } catch (error) {
        onProblem("a change could not be published to all watchers", { error: String(error) });
      }
    }
    this.#place = { ...this.#place, number: committed.number };
    this.#conflicts.applied(this.newest);
  }

  /** A message is taken in whole. */
  #reach(place: Place): void {
    this.#place = place;
    // Or a start would go on in the middle of a snapshot.
    if (!this.#snapshots.isReading) this.#kept.reach(place);
  }

  /** Our own message is in the stream. */
  #land(flight: Flight, sequence: number): void {
    this.#outbox.land(this.newest + 1, ({ entries, committed }, first) => {
      this.#place = { ...this.#place, number: first + entries.length - 1 };
      try {
        committed(first);
      } catch (error) {
        this.#options.onProblem("a change could not be published to all watchers", { error: String(error) });
      }
      for (const [index, entry] of entries.entries()) this.#note({ number: first + index, entry }, sequence);
    });
    this.#bytes += flight.data.length;
    this.#reach({ sequence, number: this.newest, message: flight.id });
    this.#onApplied();
  }

  async #send(): Promise<void> {
    const session = this.#session;
    if (session === undefined) return;
    const { sequence } = this.#place;
    const stored = await this.#outbox.send(session, this.#place, () => this.#session === session);
    if (stored !== undefined) this.#land(stored, sequence + 1);
  }

  /** The connection has ended. */
  #isAway(): void {
    if (this.#isCurrent) this.#awaySince = this.#options.clock.monotonic();
    this.#isCurrent = false;
    this.#arrived = [];
    this.#outbox.sendAgain();
    if (this.#divergence !== undefined) this.#outbox.refuseAll();
  }

  #reportProblem(error: unknown): void {
    const cause = error instanceof Error ? error.message : String(error);
    const problem = this.#divergence ?? this.#describe(cause);
    if (this.#problem === undefined) this.#options.onProblem(problem, {});
    this.#problem = problem;
  }

  #describe(cause: string): string {
    const { name, servers } = this.#options.address;
    return `The shared log ${name} at ${servers.join(", ")} cannot be reached (${cause}): the last known values are served, and changes are refused. Repoconf keeps retrying.`;
  }
}
