import type { ConfigChanged, EventMessage, ProgressMessage } from "../protocol.ts";

/** What a watch of everything tells beside the daemon's own events. */
export type WatchMessage =
  | EventMessage
  | readonly [resource: "connection", event: "lost", payload: Record<string, never>]
  /**
   * The connection is back. What changed meanwhile follows, but for the repositories in `lost`: those came or went, or
   * their history does not reach back so far. List these again.
   */
  | readonly [resource: "connection", event: "resumed", payload: { readonly lost: readonly string[] }];

/** Repository ids and the revisions they have. */
export type Revisions = { readonly [repo: string]: number };

export interface WatchOptions {
  /** One id or several. */
  readonly repo: string | readonly string[];
  /** First what came after this revision; with several repositories an object of ids to revisions. Left out: from now on. */
  readonly since?: number | Revisions;
  /** Instead of `since`, one value for all: the last `position` that an event had. */
  readonly position?: string;
  /** Ends the watch. */
  readonly signal?: AbortSignal;
}

/** One watch of a client: what came and was not taken yet, and how far each repository has been seen. */
export class Watch {
  /** Undefined: everything. */
  readonly repos: readonly string[] | undefined;
  /** Where it begins in the daemon's log, if not now or at revisions. */
  readonly position: string | undefined;
  readonly #queue: WatchMessage[] = [];
  readonly #seen = new Map<string, number>();
  /**
   * Repositories whose past is still to be asked for (undefined: what comes of them until then will come again), or has
   * been (what came of it waits until all is known).
   */
  readonly #held = new Map<string, (EventMessage | ProgressMessage)[] | undefined>();
  readonly #lost = new Set<string>();
  /** Between `resume` and `release`: what comes of repositories that are not held, and is told behind "resumed". */
  #waiting: (EventMessage | ProgressMessage)[] | undefined;
  #wake = Promise.withResolvers<void>();
  #begun = false;
  #hasBegun = false;
  #ended = false;
  #error: unknown;

  constructor(repos: readonly string[] | undefined, since: Revisions = {}, position?: string) {
    this.repos = repos;
    this.position = position;
    for (const [id, revision] of Object.entries(since)) this.#seen.set(id, revision);
  }

  /** Whether the daemon has ever answered it. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** How far the repositories have been seen: what comes after is still wanted. */
  seen(repos: Iterable<string> = this.#seen.keys()): Revisions {
    return Object.fromEntries([...repos].flatMap(id => (this.#seen.has(id) ? [[id, this.#seen.get(id) ?? 0]] : [])));
  }

  /** The daemon sends events from now on, and first what came after `seen`. */
  begin(revisions: Revisions): void {
    for (const [id, revision] of Object.entries(revisions)) if (!this.#seen.has(id)) this.#seen.set(id, revision);
    this.#begun = true;
    this.#hasBegun = true;
  }

  /** The connection is gone; what is told from here on belongs to the next one. */
  lose(): void {
    if (!this.#begun) return;
    this.#begun = false;
    this.#waiting = undefined;
    if (this.repos === undefined) this.#push(["connection", "lost", {}]);
  }

  /**
   * Of a watch of everything: it goes on from these revisions, but for the repositories that this returns, which have
   * changed meanwhile. They are held until `release`.
   */
  resume(revisions: Revisions): { readonly changed: readonly string[]; readonly lost: readonly string[] } {
    const changed = Object.keys(revisions).filter(id => this.#seen.has(id) && this.#seen.get(id) !== revisions[id]);
    const ids = new Set([...this.#seen.keys(), ...Object.keys(revisions)]);
    const lost = [...ids].filter(id => !this.#seen.has(id) || revisions[id] === undefined);
    for (const id of lost) this.#see(id, revisions[id]);
    // Not told yet, if the connection is lost again before it could be.
    for (const id of lost) this.#lost.add(id);
    this.#held.clear();
    for (const id of changed) this.#held.set(id, undefined);
    this.#waiting = [];
    this.#begun = true;
    return { changed, lost };
  }

  /** The past of these held repositories comes from now on; it waits for `release`. */
  keep(repos: readonly string[]): void {
    for (const id of repos) this.#held.set(id, []);
  }

  /** The past of held repositories is told; that of those in `lost` cannot be, so they go on from these revisions. */
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
      // This client goes on by revisions.
      if (message[1] === "position") return;
      const { repo, revision } = message[2];
      if (this.repos?.includes(repo) === false) return;
      if (this.#held.has(repo)) {
        this.#held.get(repo)?.push(message);
        return;
      }
      // Another watch of this client may have asked for the past of this repository.
      if (revision <= (this.#seen.get(repo) ?? 0)) return;
      this.#seen.set(repo, revision);
      // How far it has come is for the next connection alone.
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

  /** Ends it after what is still to be taken; with an error it throws that. */
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

  /** The changes alone, in order. */
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
