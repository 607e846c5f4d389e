import type { EventMessage } from "../protocol.ts";

/** What a watch tells beside the daemon's own events: the connection is back, and these repositories changed meanwhile. */
export type WatchMessage =
  | EventMessage
  | readonly [resource: "connection", event: "resumed", payload: { readonly changed: readonly string[] }];

/** One watch of a client: what came and was not taken yet, and which revisions it has seen. */
export class Watch {
  /** Undefined: everything. */
  readonly repo: string | undefined;
  readonly #queue: WatchMessage[] = [];
  readonly #revisions = new Map<string, number>();
  #wake = Promise.withResolvers<void>();
  #ended = false;
  #error: unknown;

  constructor(repo: string | undefined) {
    this.repo = repo;
  }

  /** The daemon sends events from these revisions on; after a resume, what differs changed meanwhile. */
  begin(revisions: { readonly [repo: string]: number }, resumed: boolean): void {
    const ids = new Set([...this.#revisions.keys(), ...Object.keys(revisions)]);
    const changed = [...ids].filter(id => this.#revisions.get(id) !== revisions[id]);
    this.#revisions.clear();
    for (const [id, revision] of Object.entries(revisions)) this.#revisions.set(id, revision);
    if (resumed) this.#push(["connection", "resumed", { changed }]);
  }

  take(message: EventMessage): void {
    if (message[0] === "config") {
      const { repo, revision } = message[2];
      if (this.repo !== undefined && repo !== this.repo) return;
      this.#revisions.set(repo, revision);
    } else if (this.repo !== undefined) {
      return;
    } else if (message[0] === "repo") {
      const [, event, { id, revision }] = message;
      if (event === "removed") this.#revisions.delete(id);
      else this.#revisions.set(id, revision);
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

  #push(message: WatchMessage): void {
    this.#queue.push(message);
    this.#wake.resolve();
  }
}
