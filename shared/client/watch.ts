import { limits } from "../limits.ts";
import type { ConfigChanged, EventMessage, OperationResults, ProgressMessage } from "../protocol.ts";

/** A message of `watchEverything`: the daemon's events, and what happens to the connection. */
export type WatchMessage =
  | EventMessage
  | readonly [resource: "connection", event: "lost", payload: Record<string, never>]
  /**
   * The connection is back. The changes made meanwhile follow, except in the `lost` repositories: those were added or removed, or
   * their history does not reach back far enough. List them again.
   */
  | readonly [resource: "connection", event: "resumed", payload: { readonly lost: readonly string[] }];

/** Repository ids and the revisions they have. */
export type Revisions = { readonly [repo: string]: number };

export interface WatchOptions {
  /** One id or several. */
  readonly repo: string | readonly string[];
  /** Start after this revision; with several repositories, an object of ids to revisions. If left out: from now on. */
  readonly since?: number | Revisions;
  /** Instead of `since`, one value for everything: the last `position` of an event. */
  readonly position?: string;
  /** Ends the watch. */
  readonly signal?: AbortSignal;
  /** Called once, when the watch begins: no change is missed between what is read from then on and the messages. */
  onBegin?(): void;
}

/** What the daemon answers to `config/watch`. */
export type WatchReply = OperationResults["config/watch"];

/** One watch of a client: its queue of messages, and how far it has come. */
export class Watch {
  /** Undefined means everything. */
  readonly repos: readonly string[] | undefined;
  readonly #queue: WatchMessage[] = [];
  /** The last revision seen of each repository: the daemon sends changes again if another watch asks for them. */
  readonly #seen: Map<string, number>;
  /** Every change up to here has arrived. Undefined until the daemon says so: while it sends what came after revisions. */
  #position: string | undefined;
  /** The last revisions seen of repositories that are further than the position: events that had none came after it. */
  readonly #ahead = new Map<string, number>();
  /** How many of them there were when a connection was last lost. */
  #aheadBefore = 0;
  /** Whether it would get the same again and again: no message can hold how far it is, and the last connection brought nothing new. */
  #isStuck = false;
  /** While a watch of everything resumes: events that wait until the lost repositories are known. */
  #held: (EventMessage | ProgressMessage)[] | undefined;
  #isBegun = false;
  #hasBegun = false;
  readonly #onBegin: () => void;
  #wake = Promise.withResolvers<void>();
  #ended = false;
  #error: unknown;

  constructor(repos: readonly string[] | undefined, since: Revisions = {}, position?: string, onBegin = () => {}) {
    this.repos = repos;
    this.#seen = new Map(Object.entries(since).filter(([id]) => repos?.includes(id)));
    this.#position = position;
    this.#onBegin = onBegin;
  }

  /** Whether the daemon has ever confirmed this watch. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** The repositories of which something is known. */
  get known(): readonly string[] {
    return [...this.#seen.keys()];
  }

  /** The arguments with which the daemon continues this watch where it is. */
  get start(): { readonly position?: string; readonly since?: Revisions } {
    const ahead = this.#aheadInMessage;
    if (this.#position !== undefined)
      return { position: this.#position, ...(ahead.length > 0 && { since: Object.fromEntries(ahead) }) };
    return this.#seen.size === 0 ? {} : { since: Object.fromEntries(this.#seen) };
  }

  /** As many as a message can hold, beside the ids of the watched repositories. */
  get #aheadInMessage(): readonly (readonly [repo: string, revision: number])[] {
    const idBytes = 24;
    let left = limits.messageBytes - 1_000;
    for (const id of this.repos ?? []) left -= id.length + idBytes;
    return [...this.#ahead].filter(([id]) => {
      left -= id.length + idBytes;
      return left >= 0;
    });
  }

  get isStuck(): boolean {
    return this.#isStuck;
  }

  /** The daemon sends events from now on, starting with those after `start`. */
  begin({ revisions, since, position }: WatchReply): void {
    for (const [id, revision] of Object.entries({ ...revisions, ...since }))
      if (!this.#seen.has(id)) this.#seen.set(id, revision);
    // Otherwise the position is the one that the watch continues from.
    if (Object.keys(since ?? {}).length === 0) this.#reach(position);
    else this.#position = position ?? this.#position;
    this.#isBegun = true;
    if (!this.#hasBegun) this.#onBegin();
    this.#hasBegun = true;
  }

  /** The daemon sends no events until the watch begins again. */
  suspend(): void {
    this.#isBegun = false;
    this.#held = undefined;
  }

  /** The connection was lost. Messages from here on belong to the next one. */
  lose(): void {
    const isOpen = this.#isBegun && this.#held === undefined;
    if (isOpen && this.repos === undefined) this.#push(["connection", "lost", {}]);
    this.#isStuck = this.#ahead.size === this.#aheadBefore && this.#aheadInMessage.length < this.#ahead.size;
    this.#aheadBefore = this.#ahead.size;
    this.suspend();
  }

  /** Like `begin`, except that the events wait for `resume`. */
  hold(): void {
    this.#isBegun = true;
    this.#held = [];
  }

  /** Like `begin`, for a watch of everything on another connection. `unavailable`: repositories whose changes cannot be sent. */
  resume(reply: WatchReply, unavailable: ReadonlySet<string>): void {
    const { revisions } = reply;
    const ids = new Set([...this.#seen.keys(), ...Object.keys(revisions)]);
    const lost = [...ids].filter(id => unavailable.has(id) || !this.#seen.has(id) || revisions[id] === undefined);
    for (const id of lost) {
      const revision = revisions[id];
      if (revision === undefined) this.#forget(id);
      else for (const known of [this.#seen, this.#ahead]) known.set(id, revision);
    }
    this.begin(reply);
    this.#push(["connection", "resumed", { lost }]);
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const message of held) this.take(message);
  }

  take(message: EventMessage | ProgressMessage): void {
    if (!this.#isBegun) return;
    if (this.#held !== undefined) {
      this.#held.push(message);
      return;
    }
    if (message[0] === "config") {
      // An event of any repository, because the daemon sends all events of a connection in the order of the log.
      const { position } = message[2];
      this.#reach(position);
      if (message[1] === "position") return;
      const { repo, revision } = message[2];
      if (this.repos?.includes(repo) === false || revision <= (this.#seen.get(repo) ?? 0)) return;
      this.#seen.set(repo, revision);
      if (position === undefined) this.#ahead.set(repo, revision);
      // Progress events only say how far the watch has come.
      if (message[1] === "progress") return;
    } else if (this.repos !== undefined) {
      return;
    } else if (message[0] === "repo") {
      const [, event, { id, revision }] = message;
      if (event === "removed") this.#forget(id);
      else if (event === "added") this.#seen.set(id, revision);
    }
    this.#push(message);
  }

  /** Ends the watch after the queued messages; with an error, `messages` then throws it. */
  end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#wake.resolve();
  }

  async *messages(): AsyncGenerator<WatchMessage, void> {
    for (;;) {
      yield* this.#queue.splice(0);
      if (this.#queue.length > 0) continue;
      if (this.#ended) break;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers<void>();
    }
    if (this.#error !== undefined) throw this.#error;
  }

  /** Only the changes, in order. */
  async *changes(): AsyncGenerator<ConfigChanged, void> {
    for await (const message of this.messages()) if (message[0] === "config") yield message[2];
  }

  /** Every change up to a position has arrived. */
  #reach(position: string | undefined): void {
    if (position === undefined) return;
    this.#position = position;
    this.#ahead.clear();
  }

  #forget(id: string): void {
    this.#seen.delete(id);
    this.#ahead.delete(id);
  }

  #push(message: WatchMessage): void {
    this.#queue.push(message);
    this.#wake.resolve();
  }
}
