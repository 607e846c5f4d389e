import type { EventMessage, IndexingMessage, IndexingProgress, ProgressMessage } from "../../../shared/protocol.ts";
import type { Caller } from "../keys/caller.ts";

/** A connection's socket: the parts that the connection needs. */
export interface ConnectionSocket {
  readonly id: string;
  /** Whether the client proved its key: such clients know the events that are sent without a watch. */
  readonly isProven: boolean;
  /** Whether the client reads what it is sent; if not, it is disconnected. */
  hasRoom(): boolean;
  /** Resolves when the client has read most of what it was sent, or has disconnected. */
  drained(): Promise<void>;
  send(message: EventMessage | ProgressMessage | IndexingMessage): void;
  disconnect(): void;
}

/** The sending of one repository's past changes to a client. */
export interface CatchUp {
  /** The last revision that was sent; set back when the client asks for earlier changes. */
  at: number;
}

/** One connected client: who it is and what it watches. */
export class Connection {
  readonly caller: Caller;
  readonly socket: ConnectionSocket;
  readonly #repositories = new Set<string>();
  /** Repositories whose past changes are still being sent; changes made meanwhile also come from the history. */
  readonly #catchingUp = new Map<string, CatchUp>();
  readonly #isValid: (caller: Caller) => boolean;
  readonly #onCatchUp: (connection: Connection) => void;
  #isSendingPast = false;
  #hasEnded = false;
  /** The number of changes in each repository, since the last event about it, that this connection may not see. */
  readonly #unseen = new Map<string, number>();
  #everything = false;
  #progress = false;
  #byPosition = false;

  constructor(
    caller: Caller,
    socket: ConnectionSocket,
    options: {
      /** Whether the caller's key or session has not ended. */
      isValid(caller: Caller): boolean;
      /** The client asked for past changes, and none were being sent to it. */
      onCatchUp(connection: Connection): void;
    },
  ) {
    this.caller = caller;
    this.socket = socket;
    this.#isValid = options.isValid;
    this.#onCatchUp = options.onCatchUp;
  }

  /** Tells a client that proved its key how far the daemon is with reading files. Not every key may know how many there are. */
  sendIndexing(indexing: IndexingProgress | undefined): void {
    const { socket, caller } = this;
    if (indexing === undefined || !socket.isProven) return;
    socket.send(["daemon", "indexing", caller.owner ? indexing : {}]);
  }

  /** Disconnects a client whose key or session has ended. Returns whether it may go on. */
  checkValid(): boolean {
    const isValid = this.#isValid(this.caller);
    if (!isValid) this.socket.disconnect();
    return isValid;
  }

  /**
   * Without ids: watches everything. For each repository in `since`, the changes after that revision are sent after the reply.
   * With `progress`, progress events are sent for changes that this connection cannot see; with `byPosition`, the position at
   * which its past changes end.
   */
  watch(
    ids: readonly string[] | undefined,
    since: ReadonlyMap<string, number>,
    { progress = false, byPosition = false }: { readonly progress?: boolean; readonly byPosition?: boolean } = {},
  ): void {
    this.#progress ||= progress;
    this.#byPosition ||= byPosition;
    if (ids === undefined) this.#everything = true;
    else for (const id of ids) this.#repositories.add(id);
    for (const [id, revision] of since) {
      const running = this.#catchingUp.get(id);
      if (running !== undefined) {
        // Another watch of this client still needs its own past changes.
        running.at = Math.min(running.at, revision);
        continue;
      }
      this.#catchingUp.set(id, { at: revision });
    }
    if (this.#isSendingPast) return;
    this.#isSendingPast = true;
    this.#onCatchUp(this);
  }

  /** Past changes that are still to be sent. */
  get catchUps(): readonly (readonly [repo: string, run: CatchUp])[] {
    return [...this.#catchingUp];
  }

  /** All past changes have been sent; the next watch starts to send its own. */
  endCatchUp(): void {
    this.#isSendingPast = false;
  }

  /** Without ids: ends every watch. */
  unwatch(ids: readonly string[] | undefined): void {
    if (ids !== undefined) {
      for (const id of ids) this.#repositories.delete(id);
      for (const id of ids) if (!this.#everything) this.#catchingUp.delete(id);
      for (const id of ids) this.#unseen.delete(id);
      return;
    }
    this.#everything = false;
    this.#progress = false;
    this.#byPosition = false;
    this.#unseen.clear();
    this.#repositories.clear();
    this.#catchingUp.clear();
  }

  /** Whether all past changes that the client asked for have been sent. */
  get isCaughtUp(): boolean {
    return this.#catchingUp.size === 0;
  }

  /** Whether it watches from a position: once the past changes have been sent, it gets the position that it has reached. */
  get goesByPosition(): boolean {
    return this.#byPosition;
  }

  get watchesEverything(): boolean {
    return this.#everything;
  }

  /** Whether it gets the repository's events as they happen. */
  watches(repo: string): boolean {
    return (this.#everything || this.#repositories.has(repo)) && !this.#catchingUp.has(repo);
  }

  /** A change or a progress event of the repository was sent. */
  markSent(repo: string): void {
    this.#unseen.delete(repo);
  }

  /** Counts a change that it may not see. Returns the count, or 0 if it does not want progress events. */
  passOver(repo: string): number {
    if (!this.#progress) return 0;
    const count = (this.#unseen.get(repo) ?? 0) + 1;
    this.#unseen.set(repo, count);
    return count;
  }

  /** Whether there are changes that it may not see, and it wants progress events. */
  isBehind(repo: string): boolean {
    return this.#unseen.has(repo);
  }

  /** Whether this run of catching up is still wanted. */
  isCatchingUp(repo: string, run: CatchUp): boolean {
    return this.#catchingUp.get(repo) === run;
  }

  /** It has all past changes; from now on it gets events as they happen. */
  goLive(repo: string): void {
    this.#catchingUp.delete(repo);
  }

  /** Whether it has ended, so that nobody waits for its replies. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The client has disconnected. */
  end(): void {
    this.#hasEnded = true;
    this.unwatch(undefined);
  }
}
