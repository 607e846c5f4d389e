import { mkdir } from "node:fs/promises";
import type { LogPlace } from "../../../../shared/log-place.ts";
import { describeCause } from "../../../files/describe-cause.ts";
import { inTurn } from "../../../time/in-turn.ts";
import {
  AppendError,
  type AppendRequest,
  type CommitLog,
  type Committed,
  type FollowedEntry,
  type Follower,
  type LogEntry,
  numberIn,
  type OpenedLog,
} from "../../log/commit-log.ts";
import type { LogNumber, Position } from "../../types.ts";
import type { StreamAddress } from "./stream-address.ts";
import { type Content, contentOf, strayMessage, unknownEntry } from "./stream-content.ts";
import { StreamOutbox } from "./stream-outbox.ts";
import { type StreamFolders, type StreamPosition, StreamPositionFile } from "./stream-position.ts";
import { beingRead, diverged, refused, unreachable, warningsOf } from "./stream-problems.ts";
import { type StreamMessage, StreamSession, type StreamStatus } from "./stream-session.ts";
import { StreamSnapshots } from "./stream-snapshots.ts";

/** `folder`: where the file with this home's position in the stream is. */
export interface StreamLogOptions extends StreamFolders {
  readonly address: StreamAddress;
  /** The name of this machine in the shared log. */
  readonly machine: string;
}

/**
 * Milliseconds until an append fails if the server does not answer, counted from the loss of the connection if that came first. A cluster
 * takes 4 to 8 seconds to elect a new leader, and a client waits 10 seconds for its reply.
 */
const appendTimeout = 9_000;
/** Milliseconds that a start waits for the server before it serves the last known values. */
const startTimeout = 3_000;
/** Milliseconds between two attempts to connect; the delay doubles after each. */
const minRetryDelay = 50;
const maxRetryDelay = 1_000;
/** Milliseconds between two checks of the stream. Problems are to be told within five seconds. */
const checkInterval = 2_000;
/** With more received messages than this, reading the stream pauses until they are applied. */
const maxReceived = 1_000;

interface ReceivedMessage {
  readonly message: StreamMessage;
  readonly content: Content | undefined;
}

/**
 * The log as a stream on a NATS server, shared by several daemons. Each message is a group of entries and is published with the
 * sequence of the message that it must follow. If another machine published there first, the server rejects it, and that machine's
 * entries are applied before it is published again. A received message with the id of our own is committed; the entries of all other
 * messages go to the follower.
 */
export class StreamLog implements CommitLog {
  readonly isAuthority = true;
  readonly signature: { readonly machine: string };
  readonly #options: StreamLogOptions;
  readonly #positionFile: StreamPositionFile;
  /** The last message that was applied, and the number of the last applied entry. */
  #applied: StreamPosition;
  #follower: Follower | undefined;
  #session: StreamSession | undefined;
  /** Messages that were received and are not applied yet. */
  #received: ReceivedMessage[] = [];
  /** The last message, or entry, that was skipped since the start, as a sentence. */
  #skipped: string | undefined;
  readonly snapshots: StreamSnapshots;
  readonly #outbox: StreamOutbox;
  /** The last message that the stream contained when the connection was made; undefined while the stream is not followed. */
  #target: number | undefined;
  /** Everything up to there is applied. Nothing is appended before. */
  #isCaughtUp = false;
  /** When `#isCaughtUp` became false, by the clock's `monotonic()`. */
  #disconnectedSince: number;
  #problem: string | undefined;
  /** Why this home cannot continue with the stream, although it can be reached: it has something that the stream does not have. */
  divergence: string | undefined;
  /** What a person should know of the stream although it can be appended to, as of the last check. */
  #warnings: readonly string[] = [];
  /** The error with which the server refused the last append; undefined if it was stored. */
  #refusal: unknown;
  #connectionLoop: Promise<void> | undefined;
  /** Lets `subscribe` return: the log is caught up, or has diverged. */
  readonly #settled = Promise.withResolvers<void>();
  #isClosed = false;
  readonly #closed = Promise.withResolvers<void>();

  private constructor(options: StreamLogOptions, positionFile: StreamPositionFile, position: StreamPosition) {
    const { machine, clock, assertHeld } = options;
    this.#options = options;
    this.signature = { machine };
    this.snapshots = new StreamSnapshots(clock);
    this.#positionFile = positionFile;
    this.#applied = position;
    if (position.damage !== undefined) this.#diverge(position.damage);
    this.#disconnectedSince = clock.monotonic();
    this.#outbox = new StreamOutbox({
      clock,
      assertHeld,
      hasReceived: () => this.#received.length > 0,
      wake: () => void this.#wake(),
      onOutcome: refusal => {
        this.#refusal = refusal;
        this.#follower?.onProblems();
      },
    });
  }

  /** Needs the server only if the home has no stored position yet. Throws an Error that says why the log cannot be opened. */
  static async open(options: StreamLogOptions): Promise<OpenedLog> {
    const { address, folder } = options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const file = new StreamPositionFile(options);
    let position = await file.read(address.name);
    if (position === undefined) {
      const session = await StreamSession.open(address, true);
      position = { id: session.status.id, stream: address.name, sequence: 0, number: 0, message: "" };
      await session.close();
      await file.save(position);
    }
    const { stream } = position;
    if (stream !== address.name) throw new Error(`This home uses the shared log ${stream}, not ${address.name}.`);
    return { log: new StreamLog(options, file, position), entries: [], lost: [] };
  }

  get id(): string {
    return this.#applied.id;
  }

  get newest(): LogNumber {
    return this.#applied.number;
  }

  numberOf(position: Position | undefined): LogNumber {
    return numberIn(this.id, position);
  }

  get problem(): string | undefined {
    if (this.#isCaughtUp) return undefined;
    if (this.divergence !== undefined) return diverged(this.divergence);
    const { address } = this.#options;
    if (this.#target === undefined) return this.#problem ?? unreachable(address, "not connected yet");
    return beingRead(address, this.#target - this.#applied.sequence);
  }

  get place(): LogPlace {
    const { name, servers } = this.#options.address;
    return { name, servers, ...this.signature, replicas: this.#session?.status.replicas };
  }

  get warnings(): readonly string[] {
    const refusal = this.#refusal === undefined ? undefined : refused(this.#options.address, this.#refusal);
    const ofStream = this.#isCaughtUp ? [...this.#warnings, refusal] : [];
    return [...ofStream, this.#skipped].filter(warning => warning !== undefined);
  }

  async subscribe(follower: Follower): Promise<void> {
    this.#follower = follower;
    this.#connectionLoop = this.#keepConnected();
    const { promise: timedOut, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.schedule(startTimeout, resolve);
    await Promise.race([this.#settled.promise, timedOut]);
    cancel();
  }

  async append(request: AppendRequest): Promise<void> {
    if (this.#isClosed) throw new AppendError(new Error("the log is closed"), false);
    if (this.divergence !== undefined) throw new AppendError(new Error(diverged(this.divergence)), false);
    const { clock } = this.#options;
    const timeout = this.#isCaughtUp ? appendTimeout : this.#disconnectedSince + appendTimeout - clock.monotonic();
    await this.#outbox.append(request, timeout, this.newest);
  }

  /** Nothing to do: every message is sealed. */
  async seal(): Promise<void> {}

  readonly hasSealed = true;

  async release(through: LogNumber): Promise<void> {
    const limit = Math.min(through, (this.snapshots.replayFrom ?? Number.POSITIVE_INFINITY) - 1);
    await this.#positionFile.release(limit);
  }

  async erase(through: LogNumber): Promise<void> {
    if (this.snapshots.ended <= through) throw new Error("there is no snapshot behind what is to be erased");
    await this.#purge();
  }

  /** Deletes the messages before the newest complete snapshot. Every machine does this, because the snapshot's writer may have died. */
  async #purge(): Promise<void> {
    const sequence = this.snapshots.purgeTo;
    if (sequence === undefined) return;
    const session = this.#session;
    if (session === undefined) throw new Error("cannot reach the server of the shared log");
    this.snapshots.bytes = await session.purge(sequence);
    // A newer snapshot may be complete now.
    if (this.snapshots.purgeTo === sequence) this.snapshots.purgeTo = undefined;
  }

  #trackSnapshot(committed: Committed, sequence: number): void {
    this.snapshots.track(committed, sequence);
    if (committed.entry.kind === "end") this.#purgeInBackground();
  }

  #purgeInBackground(): void {
    const { onProblem } = this.#options;
    this.#purge().catch(error => onProblem("cannot remove old messages from the shared log", { error: String(error) }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#outbox.settled();
    await this.#wake();
    this.#closed.resolve();
    await this.#session?.close();
    await this.#connectionLoop;
    const { onProblem } = this.#options;
    // Without this position, the next start only reads more entries and skips those that the histories contain.
    await this.#positionFile
      .save()
      .catch(error => onProblem("the position in the shared log cannot be saved", { error: String(error) }));
    this.#outbox.applied(Number.POSITIVE_INFINITY);
  }

  /**
   * Connects, follows the stream, and reconnects, until the log is closed. Also if it has diverged: it may have been a server that was
   * cut off from its cluster, or an administrator may put the right stream back.
   */
  async #keepConnected(): Promise<void> {
    let delay = minRetryDelay;
    while (!this.#isClosed) {
      try {
        const session = await StreamSession.open(this.#options.address, this.#applied.sequence === 0);
        this.#session = session;
        this.snapshots.connected(session.status.bytes, session.maxPayload);
        if (!this.#isClosed) await this.#check(session, session.status, this.#applied);
        if (this.divergence === undefined) delay = minRetryDelay;
        await this.#followSession(session);
      } catch (error) {
        this.#reportProblem(error);
      }
      this.#onDisconnected();
      await this.#session?.close();
      this.#session = undefined;
      if (this.#isClosed) return;
      await Promise.race([this.#options.clock.delay(delay * (0.5 + Math.random() / 2)), this.#closed.promise]);
      delay = Math.min(2 * delay, maxRetryDelay);
    }
  }

  /** Throws if nothing can be appended now, or the stream was created again, or lost messages that this home had applied before `status`. */
  async #check(session: StreamSession, status: StreamStatus, { sequence, message }: StreamPosition): Promise<void> {
    const { address } = this.#options;
    if (status.id !== this.id)
      throw this.#diverge(
        `The shared log ${address.name} is not the one that this home uses: it was deleted and created again.`,
      );
    if (!status.isLed) throw new Error("the server was cut off from its cluster");
    const known = sequence > 0 && sequence >= status.first ? await session.messageAt(sequence) : undefined;
    if (status.last < sequence || (known !== undefined && known.id !== message))
      throw this.#diverge(`The server has lost changes of the shared log ${address.name} that this home has.`);
    // Those that were there at the last check: newer ones are on their way.
    const missed = Math.max(0, (this.#target ?? 0) - this.#applied.sequence);
    if (this.#isCaughtUp) this.#target = status.last;
    this.#warnings = warningsOf(status, address, missed);
    this.#follower?.onProblems();
  }

  #diverge(why: string): Error {
    const error = new Error(diverged(this.#applied.damage ?? why));
    if (this.divergence === undefined) this.#options.onProblem(error.message, {});
    this.divergence = this.#applied.damage ?? why;
    this.#settled.resolve();
    return error;
  }

  async #followSession(session: StreamSession): Promise<void> {
    this.#target = session.status.last;
    this.#checkCaughtUp();
    if (this.#isClosed) return;
    void this.#keepChecking(session);
    await session.follow(this.#applied.sequence, message => this.#receive(message));
  }

  #checkCaughtUp(): void {
    if (this.#isCaughtUp) return;
    this.#isCaughtUp = this.#target !== undefined && this.#applied.sequence >= this.#target;
    this.#follower?.onProblems();
    if (!this.#isCaughtUp) return;
    this.#problem = undefined;
    this.divergence = undefined;
    this.#settled.resolve();
    this.#follower?.onReachable();
    this.#purgeInBackground();
    void this.#wake();
  }

  /** Closes the session if the log has diverged, or after two failed checks: another server of the cluster may know a leader. */
  async #keepChecking(session: StreamSession): Promise<void> {
    let failures = 0;
    while (this.#session === session) {
      // A failed check took a while, and is repeated immediately.
      if (failures === 0) await Promise.race([this.#options.clock.delay(checkInterval), session.ended]);
      const applied = this.#applied;
      const error: unknown = await session
        .askStatus()
        .then(status => this.#check(session, status, applied))
        .catch((thrown: unknown) => thrown);
      failures = error === undefined ? 0 : failures + 1;
      if (this.#session !== session || (failures < 2 && this.divergence === undefined)) continue;
      this.#reportProblem(error);
      return session.close();
    }
  }

  async #receive(message: StreamMessage): Promise<void> {
    if (message.sequence <= this.#applied.sequence) return;
    const content = contentOf(message);
    this.#received.push({ message, content });
    if (content !== undefined && message.id !== this.#outbox.inFlight?.id)
      this.#outbox.recordForeign(content, this.newest);
    const applied = this.#wake();
    // Bounds the memory of a machine that was offline for long and receives many messages.
    if (this.#received.length > maxReceived) await applied;
  }

  /** Applies what was received, and sends what is to be appended. Batches the appends of one turn of the event loop into one message. */
  readonly #wake = inTurn(
    async () => {
      for (;;) {
        const received = this.#received.shift();
        if (received !== undefined) await this.#apply(received);
        else if (!(await this.#send())) return;
      }
    },
    error => this.#reportProblem(error),
  );

  async #apply({ message, content }: ReceivedMessage): Promise<void> {
    if (message.sequence <= this.#applied.sequence) return;
    if (content === undefined) {
      // Every daemon does this: the next message names this one as the one before it.
      this.#reportSkipped(strayMessage, message.sequence);
      this.#outbox.requeue();
      return this.#advance(message);
    }
    const resumesAtSnapshot = content.first > this.newest + 1 && content.entries[0]?.kind === "snapshot";
    const follows = content.first === this.newest + 1 && content.previous === this.#applied.message;
    if (!follows && !resumesAtSnapshot) {
      this.#diverge(`Message ${message.sequence} of the shared log does not follow the last one that this home has.`);
      this.#onDisconnected();
      await this.#session?.close();
      return;
    }
    if (resumesAtSnapshot) this.#skipTo(content.first);
    if (message.id === this.#outbox.inFlight?.id) return this.#commitOwn(message);
    // This message took the position of our own, which is not in the stream. Its callers must decide again before the follower is
    // called, because the follower may wait for them.
    this.#outbox.requeue();
    // `#receive` did not do this if the message was our own then. Its callers may have timed out since.
    this.#outbox.recordForeign(content, this.newest);
    for (const [index, entry] of content.entries.entries())
      await this.#applyEntry(content.first + index, entry, message.sequence);
    this.#advance(message);
  }

  #reportSkipped(describe: (stream: string, sequence: number) => string, sequence: number): void {
    this.#skipped = describe(this.#options.address.name, sequence);
    this.#options.onProblem(this.#skipped, {});
    this.#follower?.onProblems();
  }

  /** Continues at a snapshot: the messages before it were purged, and the snapshot replaces them. */
  #skipTo(first: LogNumber): void {
    this.snapshots.skipTo(first);
    this.#applied = { ...this.#applied, number: first - 1 };
    // Our own message may have been among the purged ones, so its outcome stays unknown.
    this.#outbox.failInFlight();
  }

  async #applyEntry(number: LogNumber, entry: LogEntry | undefined, sequence: number): Promise<void> {
    if (entry === undefined) {
      this.#reportSkipped(unknownEntry, sequence);
      // The values here may differ from those elsewhere.
      this.snapshots.hasFailedEntries = true;
    } else {
      this.#trackSnapshot({ number, entry }, sequence);
      for (const followed of this.snapshots.followedEntries({ number, entry })) await this.#follow(followed);
    }
    this.#applied = { ...this.#applied, number };
    this.#outbox.applied(number);
  }

  async #follow(followed: Committed<FollowedEntry>): Promise<void> {
    const { number, entry } = followed;
    let publish = () => {};
    try {
      publish = (await this.#follower?.prepare(followed)) ?? publish;
    } catch (error) {
      // Requests to forget values are retried by the store.
      this.snapshots.hasFailedEntries ||= entry.kind !== "forget";
      const message = "a change from another machine could not be applied";
      this.#options.onProblem(message, { number, error: String(error) });
    }
    this.#applied = { ...this.#applied, number };
    this.#show(publish);
  }

  /** All entries of a message are applied. */
  #advance({ sequence, id, data }: StreamMessage): void {
    this.snapshots.bytes += data.length;
    this.#applied = { ...this.#applied, sequence, message: id };
    // A start cannot continue in the middle of a snapshot.
    if (!this.snapshots.isReading) this.#positionFile.advance(this.#applied);
    this.#checkCaughtUp();
  }

  /** Commits our own message, which is in the stream now. */
  async #commitOwn(message: StreamMessage): Promise<void> {
    for (const { entries, committed, isExpired, cancel, resolve } of this.#outbox.take(this.newest + 1)) {
      const first = this.newest + 1;
      const { sequence } = message;
      if (isExpired) {
        for (const [index, entry] of entries.entries()) await this.#applyEntry(first + index, entry, sequence);
        continue;
      }
      this.#applied = { ...this.#applied, number: this.newest + entries.length };
      this.#show(() => committed(first));
      for (const [index, entry] of entries.entries()) this.#trackSnapshot({ number: first + index, entry }, sequence);
      cancel();
      resolve();
    }
    this.#advance(message);
  }

  /** Calls what makes an entry visible; the log has it even if that fails. */
  #show(makeVisible: () => void): void {
    try {
      makeVisible();
    } catch (error) {
      this.#options.onProblem("a change could not be published to all watchers", { error: String(error) });
    }
  }

  /** Returns whether there was anything to send. */
  async #send(): Promise<boolean> {
    const session = this.#session;
    if (session === undefined || !this.#isCaughtUp || !this.#outbox.hasWork) return false;
    const { sequence } = this.#applied;
    const stored = await this.#outbox.send(session, this.#applied);
    if (stored !== undefined) await this.#commitOwn({ ...stored, sequence: sequence + 1 });
    return true;
  }

  /** The connection has ended: received messages will be received again, and the message in flight is sent again. */
  #onDisconnected(): void {
    if (this.#isCaughtUp) this.#disconnectedSince = this.#options.clock.monotonic();
    this.#isCaughtUp = false;
    this.#target = undefined;
    this.#received = [];
    this.#outbox.allowRetry();
    if (this.divergence !== undefined) this.#outbox.rejectAll(diverged(this.divergence));
    this.#follower?.onProblems();
  }

  #reportProblem(error: unknown): void {
    const problem = unreachable(this.#options.address, describeCause(error));
    if (this.#problem === undefined && this.divergence === undefined) this.#options.onProblem(problem, {});
    this.#problem = problem;
  }
}
