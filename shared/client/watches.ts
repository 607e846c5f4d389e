import { RepoconfError } from "../errors.ts";
import type { EventMessage, OperationArguments, ProgressMessage } from "../protocol.ts";
import type { Connection } from "./connection.ts";
import { RequestError } from "./request-error.ts";
import type { Requests } from "./requests.ts";
import type { Watch, WatchReply } from "./watch.ts";

/** The watches of a client. Each of them begins again on every new connection, at the position that it has reached. */
export class Watches {
  readonly #connection: Connection;
  readonly #requests: Requests;
  readonly #watches = new Set<Watch>();

  constructor(connection: Connection, requests: Requests) {
    this.#connection = connection;
    this.#requests = requests;
  }

  /** Begins a watch and yields what `messages` does, until it ends. */
  async *run<Message>(
    watch: Watch,
    signal: AbortSignal | undefined,
    messages: AsyncGenerator<Message, void>,
  ): AsyncGenerator<Message, void> {
    const stop = () => watch.end();
    signal?.addEventListener("abort", stop);
    this.#watches.add(watch);
    try {
      if (signal?.aborted) return;
      await this.#begin(watch, false);
      yield* messages;
    } finally {
      this.#watches.delete(watch);
      signal?.removeEventListener("abort", stop);
      await this.#unwatch(watch.repos);
    }
  }

  take(message: EventMessage | ProgressMessage): void {
    for (const watch of [...this.#watches]) watch.take(message);
  }

  /** The connection was lost. */
  lose(): void {
    for (const watch of [...this.#watches]) watch.lose();
  }

  /** There is a new connection. */
  resume(): void {
    for (const watch of [...this.#watches]) void this.#begin(watch, true);
  }

  end(error?: unknown): void {
    for (const watch of [...this.#watches]) watch.end(error);
  }

  /** Asks the daemon for the watch's events. A failure ends the watch, unless the connection was lost again. */
  async #begin(watch: Watch, again: boolean): Promise<void> {
    const connection = this.#connection;
    try {
      if (watch.isStuck) await this.#startOver(watch);
      else if (watch.hasBegun && watch.repos === undefined) await this.#resumeEverything(watch);
      else {
        const which = watch.repos !== undefined && { repo: watch.repos };
        await this.#ask({ ...which, ...watch.start }, reply => watch.begin(reply));
      }
    } catch (error) {
      // A stopping daemon still answers earlier requests and then closes the connection, which starts a reconnect.
      if (error instanceof RepoconfError && error.code === 1113 && !connection.isClosed) return;
      const lost = error instanceof RepoconfError && (error.code === 1200 || error.code === 1201);
      // Without an answer nobody knows whether the watch began, so disconnect; the next connection asks again.
      if (again && lost && error.code === 1201) connection.replace();
      // The reconnect that replaces the lost connection begins it again.
      const comesAgain = again || connection.isReconnecting;
      if (!lost || !comesAgain || connection.isClosed) watch.end(error);
    }
  }

  /** As if the daemon did not keep what was missed. */
  async #startOver(watch: Watch): Promise<void> {
    if (watch.repos === undefined) return this.#resumeWithout(watch, new Set(watch.known));
    throw new RepoconfError(
      1110,
      "The connection was lost again and again while more changes were sent than the daemon can be told of. Read the values again, and watch from now on.",
    );
  }

  async #resumeEverything(watch: Watch): Promise<void> {
    const { start } = watch;
    const unavailable = new Set<string>();
    try {
      await this.#ask(start, reply => watch.resume(reply, unavailable));
    } catch (error) {
      noteUnavailable(error, watch, unavailable);
      await this.#resumeWithout(watch, unavailable);
    }
  }

  /** The daemon cannot send all that these repositories missed: what the others missed is sent, and then the changes of all. */
  async #resumeWithout(watch: Watch, unavailable: Set<string>): Promise<void> {
    const { start } = watch;
    const others = () => watch.known.filter(id => !unavailable.has(id));
    let reached: Pick<WatchReply, "position" | "since"> = {};
    for (let repo = others(); repo.length > 0; repo = others()) {
      try {
        const since = Object.entries(start.since ?? {}).filter(([id]) => !unavailable.has(id));
        const from = { ...start, ...(since.length > 0 && { since: Object.fromEntries(since) }) };
        await this.#ask({ ...from, repo }, ({ position, since }) => {
          reached = { ...(position && { position }), ...(since && { since }) };
          watch.hold();
        });
        break;
      } catch (error) {
        noteUnavailable(error, watch, unavailable);
      }
    }
    await this.#ask({}, reply => watch.resume({ ...reply, ...reached }, unavailable));
  }

  /** `onReply` runs before any event that the daemon sent after the reply is handled. Throws RequestError. */
  async #ask(args: OperationArguments<"config/watch">, onReply: (reply: WatchReply) => void): Promise<void> {
    await this.#requests.sendWhole("config/watch", { progress: true, ...args }, ({ result }) => onReply(result));
  }

  /** Stops the daemon from sending events that no other watch of this client needs. */
  async #unwatch(repos: readonly string[] | undefined): Promise<void> {
    if (this.#connection.isClosed || !this.#connection.isConnected) return;
    const others = [...this.#watches];
    const unwatch = (args: OperationArguments<"config/unwatch">, onReply = () => {}) =>
      this.#requests.send("config/unwatch", args, onReply).catch(() => {});
    if (repos === undefined) {
      if (others.some(watch => watch.repos === undefined)) return;
      // Without a repository the daemon ends every watch of this connection. What they miss until they begin again is sent then.
      await unwatch({}, () => {
        for (const watch of others) watch.suspend();
      });
      for (const watch of others) await this.#begin(watch, true);
    } else {
      const unused = repos.filter(id => !others.some(watch => watch.repos?.includes(id)));
      if (unused.length > 0) await unwatch({ repo: unused });
    }
  }
}

/** Adds the repository because of which a watch was refused, or all if it goes on from another log. Throws any other error. */
function noteUnavailable(error: unknown, watch: Watch, unavailable: Set<string>): void {
  if (!(error instanceof RequestError) || error.code === 1113) throw error;
  const { repo, code, details } = error;
  const { repos } = details ?? {};
  if (repo !== undefined && !unavailable.has(repo)) {
    for (const id of Array.isArray(repos) ? repos : [repo]) if (typeof id === "string") unavailable.add(id);
  }
  // For example because a backup was restored: nobody knows what changed.
  else if (repo === undefined && code === 1110) for (const id of watch.known) unavailable.add(id);
  else throw error;
}
