import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { isScopeName } from "../../../../shared/config-path.ts";
import { RepoconfError } from "../../../../shared/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../shared/json.ts";
import { limits } from "../../../../shared/limits.ts";
import { isRepositoryId } from "../../../../shared/repository-id.ts";
import type { Clock } from "../../../clock.ts";
import { DurableTextFile } from "../../../files/durable-text-file.ts";
import type { FileSystem } from "../../../files/file-system.ts";
import {
  AppendError,
  type Appending,
  type CommitLog,
  type Committed,
  ConflictError,
  type Follower,
  type LogEntry,
  type LogNumber,
  type OpenedLog,
  type Snapshots,
} from "./commit-log.ts";
import type { StreamAddress } from "./stream-address.ts";
import { placeFileName } from "./stream-place.ts";
import { type Published, type StreamMessage, StreamSession } from "./stream-session.ts";
import { repositoriesOf, StreamSnapshots } from "./stream-snapshots.ts";

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

/** How long, in milliseconds, an append waits for a server that does not answer, from when it ceased to. */
const appendTime = 5_000;
/** How long, in milliseconds, a start waits for it before what is known is served. */
const startTime = 3_000;
/** Milliseconds between two tries to connect: at first, and at most. */
const firstPause = 50;
const longestPause = 5_000;
/** Milliseconds between two tries to append where the server has no answer for now. */
const retryPause = 100;
/** How long, in milliseconds, a message that is known to be there may take to arrive before another connection is made. */
const arrivalTime = 1_000;
/** What one message takes at most, but for an entry that is larger by itself. */
const groupBytes = 512 * 1024;
/** A part of a snapshot takes at most this, but for an entry that is larger by itself, beside which there is room for the part. */
const partBytes = 256 * 1024;
const roomInPart = 1024;
/** What is around the entries in a message, at most: its limit counts that too. */
const headerBytes = 512;
/** How long, in milliseconds, what was released may not be on the disk: a start reads so much more, and passes it over. */
const keepTime = 1_000;

/** How many messages wait to be taken in before no more are asked for. */
const mostArrived = 1_000;

/** A place in the stream: behind this message. */
interface Place {
  readonly sequence: number;
  /** Of its last entry. */
  readonly number: LogNumber;
  readonly message: string;
}

/** What is kept in the home: which log, and up to where its histories have it. */
interface Kept extends Place {
  readonly id: string;
  readonly stream: string;
}

/** What a message says. */
interface Content {
  /** The number of its first entry. */
  readonly first: LogNumber;
  readonly entries: readonly LogEntry[];
}

interface Arrived {
  readonly message: StreamMessage;
  readonly content: Content;
}

interface Waiting extends Appending {
  readonly json: string;
  /** Calls off the end of waiting. */
  callOff(): void;
  resolve(): void;
  reject(error: Error): void;
}

/** A message that was sent, or is about to be, and that nobody knows the outcome of yet. */
interface Flight {
  readonly id: string;
  readonly data: Uint8Array;
  group: readonly Waiting[];
  /** Another message is in its place, which has not arrived yet. */
  isBeaten: boolean;
}

/**
 * The log as a stream on a NATS server, which several daemons share. Each message is a group of entries, published with the
 * sequence that it is to follow: if another message is there, others were first, and what they appended comes before what is to be
 * appended. What is known by its message's id to be our own is committed; all else is handed to the follower.
 */
export class StreamLog implements CommitLog {
  readonly shared: { readonly machine: string };
  readonly #options: StreamLogOptions;
  readonly #file: DurableTextFile;
  #id: string | undefined;
  /** Up to here all is taken in. */
  #place: Place = { sequence: 0, number: 0, message: "" };
  /** Places behind what was released, the oldest first; and the last one that was, until the file has it. */
  #places: Place[] = [];
  #released: Place | undefined;
  #follower: Follower | undefined;
  #session: StreamSession | undefined;
  /** Arrived, and not taken in yet. */
  #arrived: Arrived[] = [];
  #arrivedSequence = 0;
  readonly #snapshots: StreamSnapshots;
  #bytes = 0;
  #hasMissed = false;
  /** By repository: the newest entry of others; and the newest by which any repository may be another one. */
  readonly #touched = new Map<string, LogNumber>();
  #allTouched: LogNumber = 0;
  #waiting: Waiting[] = [];
  /** What has been asked for and not been answered. */
  readonly #pending = new Set<Promise<void>>();
  #flight: Flight | undefined;
  /** What is to be resolved when an entry is taken in. */
  #takers: { readonly number: LogNumber; resolve(): void }[] = [];
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
  #keptAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  readonly #closed = Promise.withResolvers<void>();

  private constructor(options: StreamLogOptions) {
    const { machine, folder, temporaryFolder, fileSystem, clock } = options;
    this.#options = options;
    this.shared = { machine };
    this.#snapshots = new StreamSnapshots(clock);
    this.#awaySince = clock.monotonic();
    this.#file = new DurableTextFile({
      path: join(folder, placeFileName),
      temporaryFolder,
      mode: 0o600,
      maximumBytes: 64 * 1024,
      fileSystem,
      clock,
    });
  }

  /** Needs no server, unless the home follows no log yet. Throws an Error that says why it cannot be begun. */
  static async open(options: StreamLogOptions): Promise<OpenedLog> {
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    const log = new StreamLog(options);
    const text = await log.#file.read();
    if (text === null) {
      const session = await StreamSession.open(options.address, true);
      log.#id = session.id;
      await session.close();
      await log.#keep();
    } else {
      const { id, stream, sequence, number, message } = JSON.parse(text) as Kept;
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
    const { begun, ended, wentOnAt, forgetting } = this.#snapshots;
    const most = Math.floor((this.#session?.mostBytes ?? partBytes) / 2);
    const known = { begun, ended, wentOnAt, forgetting, hasMissed: this.#hasMissed, bytes: this.#bytes };
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
    const callOff = this.#options.clock.schedule(startTime, resolve);
    await Promise.race([tried, isLate]);
    callOff();
  }

  append(appending: Appending): Promise<void> {
    if (this.#isClosed) return Promise.reject(new AppendError(new Error("the log is closed"), false));
    if (this.#divergence !== undefined) return Promise.reject(new AppendError(new Error(this.#divergence), false));
    const conflict = this.#conflictOf(appending);
    if (conflict !== undefined) return Promise.reject(conflict);
    const { clock } = this.#options;
    const time = this.#isCurrent ? appendTime : this.#awaySince + appendTime - clock.monotonic();
    if (time <= 0) return Promise.reject(this.#unreachable(false));
    const appended = new Promise<void>((resolve, reject) => {
      const waiting: Waiting = {
        ...appending,
        json: JSON.stringify(appending.entries).slice(1, -1),
        callOff: clock.schedule(time, () => this.#giveUp(waiting)),
        resolve,
        reject,
      };
      this.#waiting.push(waiting);
      this.#wake();
    });
    this.#pending.add(appended);
    const settled = () => void this.#pending.delete(appended);
    appended.then(settled, settled);
    return appended;
  }

  /** Every message is closed as it is. */
  async seal(): Promise<void> {}

  get hasSealed(): boolean {
    return this.#places.length > 0;
  }

  async release(through: LogNumber): Promise<void> {
    const most = Math.min(through, (this.#snapshots.keepsFrom ?? Number.POSITIVE_INFINITY) - 1);
    const last = this.#places.findLast(({ number }) => number <= most);
    if (last === undefined) return;
    this.#places = this.#places.slice(this.#places.indexOf(last) + 1);
    this.#released = last;
    if (this.#options.clock.monotonic() >= this.#keptAt + keepTime) await this.#keep();
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
    // Each of them gives up by itself after a while.
    await Promise.allSettled(this.#pending);
    await this.#running;
    this.#closed.resolve();
    await this.#session?.close();
    await this.#serving;
    const { onProblem } = this.#options;
    // Without it the next start passes over what the histories have.
    if (this.#released !== undefined)
      await this.#keep().catch(error =>
        onProblem("the place in the shared log cannot be kept", { error: String(error) }),
      );
    for (const { resolve } of this.#takers.splice(0)) resolve();
  }

  async #keep(): Promise<void> {
    this.#keptAt = this.#options.clock.monotonic();
    const place = this.#released;
    this.#released = undefined;
    const kept: Kept = { id: this.id, stream: this.#options.address.name, ...(place ?? this.#place) };
    await this.#file.write(`${JSON.stringify(kept)}\n`);
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
    this.#onTaken = check;
    check();
    if (this.#isClosed) return;
    await session.follow(this.#place.sequence, message => this.#arrive(message));
  }

  #onTaken: () => void = () => {};

  async #arrive(message: StreamMessage): Promise<void> {
    if (message.sequence <= this.#arrivedSequence || message.sequence <= this.#place.sequence) return;
    this.#arrivedSequence = message.sequence;
    const content = contentOf(message);
    this.#arrived.push({ message, content });
    if (message.id !== this.#flight?.id) this.#touch(content);
    this.#wake();
    // Who was away for long has much to take in.
    if (this.#arrived.length > mostArrived) await this.#running;
  }

  /** Others changed this. Anyone who waits with what is stale by it is told at once: while he waits, what came may not get to him. */
  #touch({ first, entries }: Content): void {
    for (const [index, entry] of entries.entries()) {
      const repos = repositoriesOf(entry);
      if (repos === undefined) this.#allTouched = first + index;
      for (const repo of repos ?? []) this.#touched.set(repo, first + index);
    }
    this.#rejectBeaten();
  }

  #rejectBeaten(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) {
      const conflict = this.#conflictOf(one);
      if (conflict === undefined) this.#waiting.push(one);
      else this.#reject(one, conflict);
    }
  }

  #conflictOf({ entries, after }: Appending): ConflictError | undefined {
    const numbers = entries.flatMap(entry => repositoriesOf(entry)?.map(repo => this.#touched.get(repo) ?? 0) ?? []);
    const newest = Math.max(this.#allTouched, ...numbers);
    if (newest <= after) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    if (newest <= this.newest) resolve();
    else this.#takers.push({ number: newest, resolve });
    return new ConflictError(promise);
  }

  #wake(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#hasWork) this.#wake();
    });
  }

  get #hasWork(): boolean {
    if (this.#arrived.length > 0) return true;
    const isFree = this.#flight === undefined ? this.#waiting.length > 0 : !this.#flight.isBeaten;
    return isFree && this.#isCurrent && this.#session !== undefined;
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
    if (content.first !== this.newest + 1 && !begins) {
      this.#divergence = `Message ${message.sequence} of the shared log does not follow the last known message.`;
      this.#reportProblem(new Error(this.#divergence));
      await this.#session?.close();
      return;
    }
    if (begins) this.#skipTo(content.first);
    const flight = this.#flight;
    if (message.id === flight?.id) return this.#land(flight, message.sequence);
    // It may have been our own until its callers gave up.
    this.#touch(content);
    for (const [index, entry] of content.entries.entries())
      await this.#takeEntry({ number: content.first + index, entry }, message.sequence);
    this.#bytes += message.data.length;
    this.#reach({ sequence: message.sequence, number: this.newest, message: message.id });
    // What was to be in this place is not, and never will be.
    if (flight !== undefined) {
      this.#flight = undefined;
      this.#waiting.unshift(...flight.group);
      this.#rejectBeaten();
    }
    this.#onTaken();
  }

  /** What was in between is no longer in the stream: a snapshot has what is needed of it. */
  #skipTo(first: LogNumber): void {
    this.#snapshots.skipTo(first);
    this.#place = { ...this.#place, number: first - 1 };
    // It may have been among what is gone.
    for (const waiting of this.#flight?.group ?? []) this.#reject(waiting, this.#unreachable(true));
    this.#flight = undefined;
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
    const ready = this.#takers.filter(({ number }) => number <= this.newest);
    this.#takers = this.#takers.filter(({ number }) => number > this.newest);
    for (const { resolve } of ready) resolve();
  }

  /** A message is taken in whole. */
  #reach(place: Place): void {
    this.#place = place;
    // Or a start would go on in the middle of a snapshot.
    if (!this.#snapshots.isReading) this.#places.push(place);
  }

  /** Our own message is in the stream. */
  #land(flight: Flight, sequence: number): void {
    this.#flight = undefined;
    const first = this.newest + 1;
    const count = flight.group.reduce((sum, { entries }) => sum + entries.length, 0);
    let number = first;
    for (const waiting of flight.group) {
      this.#place = { ...this.#place, number: number + waiting.entries.length - 1 };
      try {
        waiting.committed(number);
      } catch (error) {
        this.#options.onProblem("a change could not be published to all watchers", { error: String(error) });
      }
      for (const [index, entry] of waiting.entries.entries()) this.#note({ number: number + index, entry }, sequence);
      number += waiting.entries.length;
      waiting.callOff();
      waiting.resolve();
    }
    this.#bytes += flight.data.length;
    this.#reach({ sequence, number: first + count - 1, message: flight.id });
    this.#onTaken();
  }

  async #send(): Promise<void> {
    const session = this.#session;
    const flight = this.#flight ?? this.#nextFlight();
    if (session === undefined || flight === undefined) return;
    this.#flight = flight;
    const { sequence } = this.#place;
    let published: Published;
    try {
      this.#options.assertHeld();
      published = await session.publish(flight.id, flight.data, sequence);
    } catch (error) {
      if (this.#flight !== flight) return;
      this.#flight = undefined;
      for (const waiting of flight.group) this.#reject(waiting, new AppendError(error, false));
      return;
    }
    // Its callers gave up: if it is there, it comes by.
    if (this.#flight !== flight) return;
    if (published === "stored") return this.#land(flight, sequence + 1);
    if (published === "conflict") {
      flight.isBeaten = this.#arrived.length === 0;
      // What sends messages may have gone with a server of a cluster.
      if (flight.isBeaten) this.#options.clock.schedule(arrivalTime, () => this.#hurry(flight, session));
      return;
    }
    if (this.#session === session) await this.#options.clock.delay(retryPause);
  }

  #hurry(flight: Flight, session: StreamSession): void {
    if (this.#flight === flight && flight.isBeaten && this.#arrived.length === 0) void session.close();
  }

  #nextFlight(): Flight | undefined {
    const group: Waiting[] = [];
    let bytes = 0;
    const most = (this.#session?.mostBytes ?? 0) - headerBytes;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const more = Buffer.byteLength(next.json) + 64;
      const isBegin = next.entries[0]?.kind === "snapshot";
      // What is before the message that begins a snapshot can go.
      if (group.length > 0 && (isBegin || bytes + more > Math.min(groupBytes, most))) break;
      this.#waiting.shift();
      const isPart = next.entries[0]?.kind === "part";
      if (more + (isPart ? 0 : roomInPart) > most) {
        this.#reject(next, new AppendError(tooLarge(more, most), false));
        continue;
      }
      bytes += more;
      group.push(next);
    }
    if (group.length === 0) return undefined;
    const text = `{"first":${this.newest + 1},"entries":[${group.map(({ json }) => json).join(",")}]}`;
    return { id: randomUUID(), data: Buffer.from(text), group, isBeaten: false };
  }

  /** The connection has ended. */
  #isAway(): void {
    if (this.#isCurrent) this.#awaySince = this.#options.clock.monotonic();
    this.#isCurrent = false;
    this.#arrived = [];
    // It is sent once more, right behind what is known by then.
    if (this.#flight !== undefined) this.#flight.isBeaten = false;
    if (this.#divergence === undefined) return;
    for (const waiting of this.#flight?.group ?? []) this.#reject(waiting, this.#unreachable(true));
    this.#flight = undefined;
    for (const waiting of this.#waiting.splice(0)) this.#reject(waiting, this.#unreachable(false));
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

  #giveUp(waiting: Waiting): void {
    const flight = this.#flight;
    if (flight?.group.includes(waiting)) {
      // Nobody waits for it any more; should it be there, it comes by as a change like those of others.
      this.#flight = undefined;
      for (const one of flight.group) this.#reject(one, this.#unreachable(true));
      this.#wake();
      return;
    }
    const index = this.#waiting.indexOf(waiting);
    if (index === -1) return;
    this.#waiting.splice(index, 1);
    this.#reject(waiting, this.#unreachable(false));
  }

  #reject(waiting: Waiting, error: Error): void {
    waiting.callOff();
    waiting.reject(error);
  }

  #unreachable(isOutcomeUnknown: boolean): AppendError {
    return new AppendError(new Error("cannot reach the server of the shared log"), isOutcomeUnknown);
  }
}

function tooLarge(given: number, limit: number): RepoconfError {
  const message = `The change takes ${given} bytes in the shared log, and one message of its server at most ${limit}; nothing was changed. Change fewer repositories or smaller values at once, or raise max_payload of the server.`;
  return new RepoconfError(1107, message, { details: { given, limit } });
}

/** Of a message that no daemon published, nothing, which follows on nothing. */
function contentOf({ data }: StreamMessage): Content {
  const nothing = { first: 0, entries: [] };
  try {
    const content: unknown = JSON.parse(Buffer.from(data).toString("utf8"));
    return isContent(content) ? content : nothing;
  } catch {
    return nothing;
  }
}

/** Ids and the names of scopes become names of files. */
function isContent(value: unknown): value is Content {
  if (!isJsonObject(value) || !Number.isSafeInteger(value["first"]) || !Array.isArray(value["entries"])) return false;
  return value["entries"].every((entry: unknown) => {
    if (!isJsonObject(entry)) return false;
    switch (entry["kind"]) {
      case "commit":
        return isCommit(entry);
      case "remove":
      case "forget":
        return isRepositoryId(String(entry["repo"]));
      case "rename":
        return isRepositoryId(String(entry["repo"])) && typeof entry["name"] === "string";
      case "part":
        return isPart(entry);
      case "scope":
        return isScope(entry);
      default:
        return entry["kind"] === "snapshot" || entry["kind"] === "end";
    }
  });
}

function isPart({ repo, commits, forgettings }: JsonObject): boolean {
  const isOfIt = (entry: JsonValue) =>
    isJsonObject(entry) && (entry["kind"] === "commit" ? isCommit(entry) : entry["repo"] === repo);
  return (
    [commits, forgettings].every(list => Array.isArray(list) && list.every(isOfIt)) && isRepositoryId(String(repo))
  );
}

function isScope({ name, text }: JsonObject): boolean {
  if (typeof name !== "string" || !isScopeName(name) || name === "svc") return false;
  return text === null || (typeof text === "string" && Buffer.byteLength(text) <= limits.scopeBytes);
}

function isCommit({ documents }: JsonObject): boolean {
  return Array.isArray(documents) && documents.every(isDocument);
}

function isDocument(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { repo, revision, edits, served = [] } = value;
  const isEdits = (list: unknown) =>
    Array.isArray(list) &&
    list.every(edit => isJsonObject(edit) && typeof edit["scope"] === "string" && typeof edit["field"] === "string");
  return isRepositoryId(String(repo)) && Number.isSafeInteger(revision) && isEdits(edits) && isEdits(served);
}
