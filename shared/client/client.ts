import { io, type Socket } from "socket.io-client";
import { configValue } from "../config.ts";
import { splitConfigPath } from "../config-path.ts";
import { type ErrorCode, type ErrorEntry, errorNames, RepoconfError } from "../errors.ts";
import { limits } from "../limits.ts";
import type {
  ChangedRepository,
  ConfigChanged,
  EventMessage,
  FoundHistoryEntry,
  HistoryEntry,
  IndexingMessage,
  IndexingProgress,
  Matrix,
  MatrixRow,
  OperationArguments,
  OperationName,
  OperationResults,
  ProgressMessage,
  ProofMessage,
  Reply,
  RepositoryEntry,
  SearchHit,
} from "../protocol.ts";
import type { ValueEdit } from "../value-edit.ts";
import type { Address } from "./address.ts";
import type { ConfigScopes, FieldPath, FieldValue, FieldValues } from "./fields.ts";
import { Proofs } from "./proofs.ts";
import { type UndoBatchOptions, type UndoneBatch, undoBatch } from "./undo-batch.ts";
import { type Revisions, Watch, type WatchMessage, type WatchOptions } from "./watch.ts";

export interface ClientOptions {
  /**
   * Finds the daemon. Called before every connect and reconnect, because a restarted daemon may use another port. Throws
   * RepoconfError 1200.
   */
  locate(): Promise<Address>;
  /**
   * How long to wait for a connection or a reply, in milliseconds; 10,000 if left out. Starts again each time the daemon reports
   * that it is still indexing.
   */
  readonly timeout?: number;
  /**
   * Called while a request waits because the daemon is reading files for the first time, with the progress (empty unless you are
   * the owner), and with undefined once nothing waits any more.
   */
  onIndexing?(progress: Partial<IndexingProgress> | undefined): void;
}

/** How to make a change; docs/protocol.md, "set". */
export interface ChangeOptions {
  /** Only if the repository is at this revision. */
  readonly revision?: number;
  /** Change all fields or none. */
  readonly atomic?: boolean;
  /** Only report what would change. */
  readonly dryRun?: boolean;
  readonly reason?: string;
  /** Changes with the same text form one batch, which `undoBatch` can undo. */
  readonly batch?: string;
  /** Wait until the file is written too. Without it the change is durable and active, and the file is written shortly after. */
  readonly flush?: boolean;
}

type AskForPage<Entry> = (page: { after?: string }) => Promise<Reply<readonly Entry[]>>;

export interface RestoreOptions extends ChangeOptions {
  /** Restore only these fields. If left out: every field that differs and that the key may write. */
  readonly fields?: readonly FieldPath[];
}

/** Thrown when an operation fails in whole or in part. It has the first error and the whole reply. */
export class RequestError extends RepoconfError {
  /** The whole reply; `result` contains what succeeded. */
  readonly reply: Reply;

  constructor(first: ErrorEntry, reply: Reply) {
    super(first.code, first.message, first);
    this.reply = reply;
  }
}

const defaultTimeout = 10_000;
/** The longest delay a timer accepts, in milliseconds. */
const longestTimer = 2 ** 31 - 1;
/** How many times the usual timeout to wait for a matrix, which may have to read the values of all repositories. */
const matrixTimes = 6;
const firstRetryDelay = 100;
const longestRetryDelay = 5_000;
/** A connection that lasted less than this, in milliseconds, is not replaced immediately. */
const shortLife = 500;

/**
 * A connection to the daemon that reconnects with backoff; requests made meanwhile wait. Works in Node and in browsers, with a
 * different `locate` for each.
 */
export class RepoconfClient {
  readonly #locate: () => Promise<Address>;
  readonly #timeout: number;
  readonly #onIndexing: ClientOptions["onIndexing"];
  /** For each request that waits for its reply: restarts its timeout. */
  readonly #waiting = new Set<() => void>();
  /** Whether `onIndexing` has been called for the current indexing. */
  #isIndexingReported = false;
  readonly #watches = new Set<Watch>();
  #socket: Socket | undefined;
  #connecting: Promise<Socket> | undefined;
  #closed = false;
  #wasConnected = false;
  #connectedAt = 0;

  constructor({ locate, timeout = defaultTimeout, onIndexing }: ClientOptions) {
    this.#locate = locate;
    this.#timeout = timeout;
    this.#onIndexing = onIndexing;
  }

  /**
   * Connects once. Throws RepoconfError 1200 (no daemon), 1201 (no answer), or the reason the handshake was refused (1100, 1107).
   */
  async connect(): Promise<void> {
    await this.#connect();
  }

  close(): void {
    this.#closed = true;
    this.#socket?.close();
    this.#socket = undefined;
    for (const watch of [...this.#watches]) watch.end();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * Runs any operation and returns its reply; errors are in the reply and not thrown. Throws RepoconfError 1200 or 1201 if there
   * is no reply.
   */
  async request<Name extends OperationName>(
    name: Name,
    args: OperationArguments<Name>,
  ): Promise<Reply<OperationResults[Name]>> {
    return this.#request(name, args, () => {});
  }

  /**
   * `onReply` runs before any event that the daemon sent after the reply is handled. Awaiting the promise would be too late for
   * that.
   */
  async #request<Name extends OperationName>(
    name: Name,
    args: OperationArguments<Name>,
    onReply: (reply: Reply<OperationResults[Name]>) => void,
  ): Promise<Reply<OperationResults[Name]>> {
    const socket = await this.#connected();
    const { promise, resolve, reject } = Promise.withResolvers<Reply<OperationResults[Name]>>();
    const fail = ({ message }: Error) =>
      reject(
        noReply(`The daemon did not answer ${name}: ${message}. It is not known whether the operation took effect.`),
      );
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = () => {
      clearTimeout(timer);
      const time = name === "config/matrix" ? this.#timeout * matrixTimes : this.#timeout;
      timer = setTimeout(() => fail(new Error("it took too long")), time);
    };
    wait();
    this.#waiting.add(wait);
    // Only with a timeout, however long, does socket.io-client report that the connection was lost.
    const emitter = socket.timeout(longestTimer);
    emitter.emit("svc", ...name.split("/"), args, (error: Error | null, reply: Reply<OperationResults[Name]>) => {
      if (error !== null) return fail(error);
      onReply(reply);
      resolve(reply);
    });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(wait);
      if (this.#waiting.size === 0 && this.#isIndexingReported) this.#reportIndexing(undefined);
    }
  }

  /** The daemon is still reading files and made progress, so waiting requests may wait longer. */
  #reportIndexing(progress: Partial<IndexingProgress> | undefined): void {
    if (progress !== undefined && this.#waiting.size === 0) return;
    for (const wait of this.#waiting) wait();
    this.#isIndexingReported = progress !== undefined;
    this.#onIndexing?.(progress);
  }

  /** Like `request`, but returns only the result. Throws RequestError if the reply contains any error. */
  async run<Name extends OperationName>(name: Name, args: OperationArguments<Name>): Promise<OperationResults[Name]> {
    return (await this.#answered<Name>(name, args)).result;
  }

  async #answered<Name extends OperationName>(
    name: Name,
    args: OperationArguments<Name>,
  ): Promise<Reply<OperationResults[Name]>> {
    const reply = await this.request<Name>(name, args);
    const [first] = reply.errors;
    if (first !== undefined) throw new RequestError(first, reply);
    return reply;
  }

  /** One field's effective value. Throws RequestError 1011, 1102, 1106. */
  async get<Path extends FieldPath>(repo: string, path: Path): Promise<FieldValue<Path>> {
    const config = await this.run("config/list", { repo, field: path });
    const split = splitConfigPath(path);
    const value = split && configValue(config, split.scope, split.field);
    // The daemon validates every value with the schema that the type is derived from.
    return value as FieldValue<Path>;
  }

  /** Every effective value that the key may read, now or at a revision. Throws RequestError 1102, 1106, 1110, 1112. */
  async list(repo: string, options: { readonly revision?: number } = {}): Promise<ConfigScopes> {
    const config = await this.run("config/list", { repo, ...options });
    return config as unknown as ConfigScopes;
  }

  /** Every repository that the key may read. Throws RequestError. */
  async repositories(): Promise<RepositoryEntry[]> {
    const entries: RepositoryEntry[] = [];
    for await (const page of this.repositoryPages()) entries.push(...page);
    return entries;
  }

  /** Like `repositories`, one page at a time. Throws RequestError. */
  async *repositoryPages(): AsyncGenerator<readonly RepositoryEntry[], void> {
    // A short first page arrives soon; the rest comes in as few pages as possible.
    const [first, rest] = [100, limits.pageLength];
    const ask: AskForPage<RepositoryEntry> = page =>
      this.request("repo/list", { ...page, limit: page.after === undefined ? first : rest });
    yield* this.#pages(ask);
  }

  /**
   * Sets fields of one repository in a single revision. Throws RequestError if any field is refused; the other fields are still
   * set.
   */
  async set(repo: string, values: FieldValues, options: ChangeOptions = {}): Promise<ChangedRepository | undefined> {
    const [changed] = await this.run("config/set", { ...values, ...options, repo });
    return changed;
  }

  /**
   * Changes parts of values. Each edit applies to the value at that moment, so that two at the same time both take effect. Throws
   * RequestError.
   */
  async edit(
    repo: string,
    edits: readonly ValueEdit[],
    options: ChangeOptions = {},
  ): Promise<ChangedRepository | undefined> {
    const [changed] = await this.run("config/set", { ...options, repo, edits });
    return changed;
  }

  /** Removes the stored values of fields, so that their defaults apply. Throws RequestError. */
  async unset(
    repo: string,
    paths: readonly FieldPath[],
    options: ChangeOptions = {},
  ): Promise<ChangedRepository | undefined> {
    const [changed] = await this.run("config/unset", { ...options, repo, fields: [...paths] });
    return changed;
  }

  /** Sets fields back to their values at a revision, in one new revision. Throws RequestError 1110, 1112, or as `set`. */
  async restore(
    repo: string,
    to: number,
    { fields, ...options }: RestoreOptions = {},
  ): Promise<ChangedRepository | undefined> {
    const args = { ...options, repo, to, ...(fields !== undefined && { fields: [...fields] }) };
    const [changed] = await this.run("history/restore", args);
    return changed;
  }

  /** Past changes, newest first, of one field if `field` is given. Loads further pages as you iterate. Throws RequestError. */
  async *history(repo: string, field?: FieldPath): AsyncGenerator<HistoryEntry, void> {
    const args = { repo, ...(field !== undefined && { field }) };
    yield* this.#entries<HistoryEntry>(page => this.request("history/list", { ...args, ...page }));
  }

  /**
   * Searches all repositories (docs/protocol.md, "Queries"); results are ordered by repository id. Loads further pages as you
   * iterate. Throws RequestError.
   */
  async *search(query: string): AsyncGenerator<SearchHit, void> {
    yield* this.#entries<SearchHit>(page => this.request("config/search", { query, ...page }));
  }

  /**
   * The repositories and fields that match a query, and each field's most common value (docs/protocol.md, "config/matrix").
   * Throws RequestError.
   */
  async matrix(query: string): Promise<Required<Matrix>> {
    const { result, next } = await this.#answered("config/matrix", { query });
    const repositories = [...result.repositories];
    for (let after = next; after !== undefined; ) {
      const more = await this.#answered("config/matrix", { query, after });
      repositories.push(...more.result.repositories);
      after = more.next;
    }
    const { total = { repositories: repositories.length, fields: 0 }, fields = [] } = result;
    return { repositories, total, fields };
  }

  /** The effective values of some fields in some repositories, without those that cannot be read. Throws RequestError. */
  async cells(repo: readonly string[], fields: readonly string[]): Promise<MatrixRow[]> {
    const rows: MatrixRow[] = [];
    let after: string | undefined;
    do {
      const reply = await this.request("config/cells", { repo, fields, ...(after !== undefined && { after }) });
      const [first] = reply.errors;
      if (first !== undefined && reply.result === null) throw new RequestError(first, reply);
      rows.push(...reply.result);
      after = reply.next;
    } while (after !== undefined);
    return rows;
  }

  /**
   * Changes in all repositories that match a query, newest first (docs/protocol.md, "history/search"). Loads further pages as you
   * iterate. Throws RequestError.
   */
  async *activity(query = ""): AsyncGenerator<FoundHistoryEntry, void> {
    yield* this.#entries<FoundHistoryEntry>(page => this.request("history/search", { query, ...page }));
  }

  /**
   * The changes of a batch, newest first. `since` (RFC 3339) is a time before which the batch did not exist. Throws RequestError.
   */
  async *batch(batch: string, since?: string): AsyncGenerator<FoundHistoryEntry, void> {
    const query = since === undefined ? "" : `since:${since}`;
    yield* this.#entries<FoundHistoryEntry>(page => this.request("history/search", { query, batch, ...page }));
  }

  /** Undoes a batch, except for fields that were changed since. Throws RequestError. */
  undoBatch(batch: string, options?: UndoBatchOptions): Promise<UndoneBatch> {
    return undoBatch(this, batch, options);
  }

  /** The entries of a long list, loaded page by page as they are read. Throws RequestError. */
  async *#entries<Entry>(ask: AskForPage<Entry>): AsyncGenerator<Entry, void> {
    for await (const page of this.#pages(ask)) yield* page;
  }

  /** The pages of a long list. Throws RequestError. */
  async *#pages<Entry>(ask: AskForPage<Entry>): AsyncGenerator<readonly Entry[], void> {
    let after: string | undefined;
    do {
      const { result, errors, next } = await ask(after === undefined ? {} : { after });
      yield result ?? [];
      const [first] = errors;
      if (first !== undefined) throw new RequestError(first, { result, errors });
      after = next;
    } while (after !== undefined);
  }

  /**
   * Changes in repositories, in order, each exactly once and complete. It resumes by itself after lost connections and daemon
   * restarts. Ends when `signal` is aborted or the client is closed. Throws RepoconfError if it cannot resume: 1100 (the key was
   * revoked or has expired), 1102 (no such repository), 1110 (it was away for longer than history is kept: list the values, then
   * watch again).
   */
  async *watch({ repo, since, position, signal, onBegin }: WatchOptions): AsyncGenerator<ConfigChanged, void> {
    const repos = typeof repo === "string" ? [repo] : repo;
    const from = typeof since === "number" ? Object.fromEntries(repos.map(id => [id, since])) : since;
    yield* this.#watching(new Watch(repos, from, position, onBegin), signal, watch => watch.changes());
  }

  /**
   * Changes in every repository that the key may read, and events about repositories, scopes and keys. Works like `watch`, except
   * that events about repositories, scopes and keys are missed while the connection is lost. Throws RepoconfError 1100, and 1110
   * if `position` is from another log or too old.
   */
  async *watchEverything({
    position,
    signal,
    onBegin,
  }: Pick<WatchOptions, "position" | "signal" | "onBegin"> = {}): AsyncGenerator<WatchMessage, void> {
    yield* this.#watching(new Watch(undefined, {}, position, onBegin), signal, watch => watch.messages());
  }

  async *#watching<Message>(
    watch: Watch,
    signal: AbortSignal | undefined,
    messages: (watch: Watch) => AsyncGenerator<Message, void>,
  ): AsyncGenerator<Message, void> {
    const stop = () => watch.end();
    signal?.addEventListener("abort", stop);
    this.#watches.add(watch);
    try {
      if (signal?.aborted) return;
      await this.#begin(watch, false);
      yield* messages(watch);
    } finally {
      this.#watches.delete(watch);
      signal?.removeEventListener("abort", stop);
      await this.#unwatch(watch.repos);
    }
  }

  /**
   * Asks the daemon for the watch's events, again after each connect. A failure ends the watch, unless the connection was lost
   * again.
   */
  async #begin(watch: Watch, again: boolean): Promise<void> {
    try {
      if (watch.hasBegun && watch.repos === undefined) await this.#resumeEverything(watch);
      else await this.#askFor(watch, watch.repos, revisions => watch.begin(revisions));
    } catch (error) {
      // A stopping daemon still answers earlier requests and then closes the connection, which starts a reconnect.
      if (error instanceof RepoconfError && isStopping(error) && !this.#closed) return;
      const lost = error instanceof RepoconfError && (error.code === 1200 || error.code === 1201);
      // Without an answer nobody knows whether the watch began, so disconnect; the next connection asks again.
      if (again && lost && error.code === 1201 && this.#socket?.connected) this.#socket.disconnect();
      // The reconnect that replaces the lost connection begins it again.
      const comesAgain = again || (this.#wasConnected && !this.#socket?.connected);
      if (!lost || !comesAgain || this.#closed) watch.end(error);
    }
  }

  async #askFor(
    watch: Watch,
    repos: readonly string[] | undefined,
    onRevisions: (revisions: Revisions) => void,
  ): Promise<void> {
    const { position } = watch;
    const begin = position === undefined || watch.hasBegun ? { since: watch.seen(repos) } : { position };
    const isOfRevisions = repos !== undefined || "position" in begin;
    const args = { progress: true, ...(repos !== undefined && { repo: repos }), ...(isOfRevisions && begin) };
    const reply = await this.#request("config/watch", args, ({ result, errors }) => {
      if (errors.length === 0) onRevisions({ ...result.revisions, ...result.since });
    });
    const [first] = reply.errors;
    if (first !== undefined) throw new RequestError(first, reply);
  }

  /** First asks for new events, and then for the past of only the repositories that changed meanwhile. */
  async #resumeEverything(watch: Watch): Promise<void> {
    let revisions: Revisions = {};
    let found: ReturnType<Watch["resume"]> = { changed: [], lost: [] };
    await this.#askFor(watch, undefined, known => {
      revisions = known;
      found = watch.resume(known);
    });
    const { changed, lost } = found;
    const ask = (repos: readonly string[]) =>
      this.#askFor(watch, repos, () => watch.keep(repos)).then(
        () => [],
        (error: unknown) => {
          if (!(error instanceof RequestError) || isStopping(error)) throw error;
          return repos;
        },
      );
    const refused = changed.length === 0 ? [] : await ask(changed);
    // The daemon refuses all of them if the history of one does not reach back far enough, so ask for each by itself.
    const unavailable = refused.length < 2 ? refused : (await Promise.all(refused.map(repo => ask([repo])))).flat();
    watch.release(revisions, [...lost, ...unavailable]);
  }

  /** Stops the daemon from sending events that no other watch of this client needs. */
  async #unwatch(repos: readonly string[] | undefined): Promise<void> {
    if (this.#closed || !this.#socket?.connected) return;
    const others = [...this.#watches];
    if (repos === undefined) {
      if (others.some(watch => watch.repos === undefined)) return;
      await this.request("config/unwatch", {}).catch(() => {});
      // Without a repository the daemon ends every watch of this connection.
      for (const watch of others) await this.#begin(watch, true);
    } else {
      const unused = repos.filter(id => !others.some(watch => watch.repos?.includes(id)));
      if (unused.length > 0) await this.request("config/unwatch", { repo: unused }).catch(() => {});
    }
  }

  /** The client cannot reconnect any more. */
  #fail(error: unknown): void {
    for (const watch of [...this.#watches]) watch.end(error);
  }

  /** The connected socket; waits for a reconnect in progress. */
  async #connected(): Promise<Socket> {
    if (this.#socket?.connected) return this.#socket;
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(noReply("The daemon cannot be reached.")), this.#timeout);
    try {
      return await Promise.race([this.#connect(), promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  #connect(): Promise<Socket> {
    if (this.#closed) return Promise.reject(closedError());
    if (this.#socket?.connected) return Promise.resolve(this.#socket);
    // A failed first connect is an error. A reconnect is retried until it succeeds.
    this.#connecting ??= (this.#wasConnected ? this.#reconnect() : this.#locateAndConnect()).finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #locateAndConnect(): Promise<Socket> {
    return this.#connectOnce(await this.#locate());
  }

  async #connectOnce(address: Address): Promise<Socket> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { url, agent } = address;
    const proofs = new Proofs(address);
    const socket = io(url, {
      // Called when the Engine.IO connection is open and has its id.
      auth: send => {
        proofs.prove(socket.io.engine.id).then(send, reject);
      },
      transports: ["websocket"],
      // The client reconnects itself, because it has to locate the daemon and verify its identity again each time.
      reconnection: false,
      forceNew: true,
      timeout: this.#timeout,
      // The types only allow a name, but engine.io-client in Node accepts an agent of `node:http`.
      ...(agent !== undefined && { agent: agent as unknown as string }),
    });
    socket.on("svc", (...message: EventMessage | ProgressMessage | IndexingMessage | ProofMessage) => {
      if (message[0] === "session") return proofs.isOfDaemon(message[1]) ? resolve() : reject(stranger(url));
      // Ignore everything that the daemon sends until it has proven its identity.
      if (this.#socket !== socket) return reject(stranger(url));
      if (message[0] === "daemon") return this.#reportIndexing(message[2]);
      for (const watch of [...this.#watches]) watch.take(message);
    });
    const timer = setTimeout(() => reject(noReply("The daemon does not finish the handshake.")), this.#timeout);
    socket.once("connect_error", error => reject(proofs.mayBeRefusal(error) ? connectFailure(error) : stranger(url)));
    // If the connection is lost before the handshake, socket.io-client reports nothing. The rejection waits a microtask because a
    // daemon that refuses closes the connection just before its reason is reported.
    socket.io.engine.once("close", reason =>
      queueMicrotask(() => reject(new RepoconfError(1200, `The daemon closed the connection: ${reason}.`))),
    );
    socket.once("disconnect", () => {
      if (this.#socket !== socket) return;
      for (const watch of [...this.#watches]) watch.lose();
      if (!this.#closed) void this.#connect().catch(error => this.#fail(error));
    });
    try {
      await promise;
    } catch (error) {
      socket.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    if (this.#closed || !socket.connected) {
      socket.close();
      throw this.#closed ? closedError() : new RepoconfError(1200, "The connection was lost immediately.");
    }
    const again = this.#wasConnected;
    this.#connectedAt = Date.now();
    this.#socket = socket;
    this.#wasConnected = true;
    if (again) for (const watch of [...this.#watches]) void this.#begin(watch, true);
    return socket;
  }

  async #reconnect(): Promise<Socket> {
    // Otherwise a connection that is lost at once would be replaced in an endless loop.
    if (Date.now() - this.#connectedAt < shortLife) await new Promise(resolve => setTimeout(resolve, shortLife));
    for (let pause = firstRetryDelay; ; pause = Math.min(pause * 2, longestRetryDelay)) {
      // The daemon's files may be missing for a moment, while a home is restored or moved.
      const address = await this.#locate().catch(() => undefined);
      try {
        if (this.#closed) throw closedError();
        if (address !== undefined) return await this.#connectOnce(address);
      } catch (error) {
        // A key that the daemon does not know stays unknown. Any other failure may be temporary.
        if (this.#closed || (error instanceof RepoconfError && error.code === 1100)) throw error;
      }
      // Half of the pause is random, so that many clients do not reconnect at the same moment.
      await new Promise(resolve => setTimeout(resolve, pause * (0.5 + Math.random() / 2)));
    }
  }
}

/** The daemon is stopping and accepts no more requests; the next daemon will. */
function isStopping({ code }: RepoconfError): boolean {
  return code === 1113;
}

function connectFailure(error: Error): RepoconfError {
  const code = codeOf(error);
  if (code === undefined) return new RepoconfError(1200, `The daemon cannot be reached: ${error.message}.`);
  if (code === 1100)
    return new RepoconfError(1100, "The daemon does not accept this API key: it is wrong, revoked or expired.");
  return new RepoconfError(code, error.message);
}

function codeOf(error: Error): ErrorCode | undefined {
  const data: unknown = "data" in error ? error.data : undefined;
  if (typeof data !== "object" || data === null || !("code" in data)) return undefined;
  return Object.keys(errorNames)
    .map(Number)
    .find((code): code is ErrorCode => code === data.code);
}

function stranger(url: string): RepoconfError {
  const message = `The program at ${url} is not your daemon, or does not know this key. Nothing was sent to it.`;
  return new RepoconfError(1200, message);
}

function closedError(): RepoconfError {
  return new RepoconfError(1200, "This client has been closed.");
}

function noReply(message: string): RepoconfError {
  return new RepoconfError(1201, message);
}
