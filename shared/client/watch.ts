import type { ConfigChanged, EventMessage, ProgressMessage } from "../protocol.ts";

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

/** One watch of a client: its queue of messages, and the last revision seen of each repository. */
export class Watch {
  /** Undefined means everything. */
  readonly repos: readonly string[] | undefined;
  /** The position in the daemon's log where it begins, unless it begins now or at revisions. */
  readonly position: string | undefined;
  readonly #queue: WatchMessage[] = [];
  readonly #seen = new Map<string, number>();
  /**
   * Repositories that changed while the connection was lost. Undefined: their past has not been requested yet, so their events
   * are dropped and will come again. A list: their past was requested, and their events wait there until `release`.
   */
  readonly #held = new Map<string, (EventMessage | ProgressMessage)[] | undefined>();
  readonly #lost = new Set<string>();
  /** Between `resume` and `release`: events of other repositories, delivered after "resumed". */
  #waiting: (EventMessage | ProgressMessage)[] | undefined;
  #wake = Promise.withResolvers<void>();
  #begun = false;
  #hasBegun = false;
  readonly #onBegin: () => void;
  #ended = false;
  #error: unknown;

  constructor(repos: readonly string[] | undefined, since: Revisions = {}, position?: string, onBegin = () => {}) {
    this.repos = repos;
    this.position = position;
    this.#onBegin = onBegin;
    for (const [id, revision] of Object.entries(since)) this.#seen.set(id, revision);
  }

  /** Whether the daemon has ever confirmed this watch. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** The last revision seen of each repository. Later ones are still wanted. */
  seen(repos: Iterable<string> = this.#seen.keys()): Revisions {
    return Object.fromEntries([...repos].flatMap(id => (this.#seen.has(id) ? [[id, this.#seen.get(id) ?? 0]] : [])));
  }

  /** The daemon sends events from now on, starting with those after `seen`. */
  begin(revisions: Revisions): void {
    for (const [id, revision] of Object.entries(revisions)) if (!this.#seen.has(id)) this.#seen.set(id, revision);
    this.#begun = true;
    if (!this.#hasBegun) this.#onBegin();
    this.#hasBegun = true;
  }

  /** The connection was lost. Messages from here on belong to the next one. */
  lose(): void {
    if (!this.#begun) return;
    this.#begun = false;
    this.#waiting = undefined;
    if (this.repos === undefined) this.#push(["connection", "lost", {}]);
  }

  /**
   * For a watch of everything: resumes at these revisions. The repositories that changed meanwhile (`changed`) are held until
   * `release`.
   */
  resume(revisions: Revisions): { readonly changed: readonly string[]; readonly lost: readonly string[] } {
    const changed = Object.keys(revisions).filter(id => this.#seen.has(id) && this.#seen.get(id) !== revisions[id]);
    const ids = new Set([...this.#seen.keys(), ...Object.keys(revisions)]);
    const lost = [...ids].filter(id => !this.#seen.has(id) || revisions[id] === undefined);
    for (const id of lost) this.#see(id, revisions[id]);
    // Remembered across calls, in case the connection is lost again before "resumed" is delivered.
    for (const id of lost) this.#lost.add(id);
    this.#held.clear();
    for (const id of changed) this.#held.set(id, undefined);
    this.#waiting = [];
    this.#begun = true;
    return { changed, lost };
  }

  /** The past of these held repositories starts to arrive; it waits for `release`. */
  keep(repos: readonly string[]): void {
    for (const id of repos) this.#held.set(id, []);
  }

  /**
   * The past of the held repositories has arrived, except for `lost`, whose past is unavailable: those continue at these
   * revisions.
   */
  release(revisions: Revisions, lost: readonly string[]): void {
    for (const id of lost) this.#see(id, revisions[id]);
    const kept = [...[...this.#held.values()].flatMap(messages => messages ?? []), ...(this.#waiting ?? [])];
    this.#held.clear();
    this.#waiting = undefined;
    this.#push(["connection", "resumed", { lost: [...new Set([...this.#lost, ...lost])] }]);
    this.#lost.clear();
    for (const message of kept) this.take(message);
  }

  take(message: EventMessage | ProgressMessage): void {
    if (!this.#begun) return;
    const isHeld = message[0] === "config" && message[1] !== "position" && this.#held.has(message[2].repo);
    if (this.#waiting !== undefined && !isHeld) {
      this.#waiting.push(message);
      return;
    }
    if (message[0] === "config") {
      // This client resumes by revisions, so it does not need positions.
      if (message[1] === "position") return;
      const { repo, revision } = message[2];
      if (this.repos?.includes(repo) === false) return;
      if (this.#held.has(repo)) {
        this.#held.get(repo)?.push(message);
        return;
      }
      // Already seen: it was sent again because another watch of this client asked for this repository's past.
      if (revision <= (this.#seen.get(repo) ?? 0)) return;
      this.#seen.set(repo, revision);
      // Progress events only say where the next connection has to resume.
      if (message[1] === "progress") return;
    } else if (this.repos !== undefined) {
      return;
    } else if (message[0] === "repo") {
      const [, event, { id, revision }] = message;
      if (event === "removed") this.#seen.delete(id);
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

  #see(id: string, revision: number | undefined): void {
    if (revision === undefined) this.#seen.delete(id);
    else this.#seen.set(id, revision);
  }

  #push(message: WatchMessage): void {
    this.#queue.push(message);
    this.#wake.resolve();
  }
}
