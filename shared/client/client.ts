import { io, type Socket } from "socket.io-client";
import { configValue } from "../config.ts";
import { splitConfigPath } from "../config-path.ts";
import { type ErrorCode, type ErrorEntry, errorNames, RepoconfError } from "../errors.ts";
import type { Handshake } from "../handshake.ts";
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
import type { ConfigScopes, FieldPath, FieldValue, FieldValues } from "./fields.ts";
import { Proofs } from "./proofs.ts";
import { type UndoBatchOptions, type UndoneBatch, undoBatch } from "./undo-batch.ts";
import { type Revisions, Watch, type WatchMessage, type WatchOptions } from "./watch.ts";

/** Whose key it is, and how to prove it. The key itself is never sent. */
export interface Credentials {
  /** The id in the key's text. */
  readonly keyId: string;
  /** HMAC-SHA256 of a text by the key's SHA-256, hexadecimal. */
  sign(text: string): string | Promise<string>;
  /** The daemon has proven itself on this connection. */
  proven?(handshake: Handshake): void;
}

/** Where the daemon is, and the key that both know. */
export interface Address {
  /** Without a path. */
  readonly url: string;
  /** Under Node: a `node:http` agent that leads to the daemon's Unix socket. */
  readonly agent?: object;
  readonly credentials: Credentials;
  /**
   * HMAC-SHA256 of a text by the daemon's secret, hexadecimal, where that is known: then a refusal is believed only if the
   * daemon signed it.
   */
  signAsDaemon?(text: string): string;
}

export interface ClientOptions {
  /** Finds the daemon. Asked before every connect and reconnect, as a daemon may come back on another port. Throws RepoconfError 1200. */
  locate(): Promise<Address>;
  /** Milliseconds to wait for a connection or a reply, or from the daemon's last sign that its indexing goes on; 10,000 if left out. */
  readonly timeout?: number;
  /**
   * Called while a request waits for the daemon, which is reading files that nobody has read yet: how far it is (only the owner is told),
   * and undefined when nothing waits any more.
   */
  onIndexing?(progress: Partial<IndexingProgress> | undefined): void;
}

/** How a change is to be made; docs/protocol.md, "set". */
export interface ChangeOptions {
  /** Only if the repository is at this revision. */
  readonly revision?: number;
  /** All of it or nothing. */
  readonly atomic?: boolean;
  /** Only say what would be. */
  readonly dryRun?: boolean;
  readonly reason?: string;
  /** With the same text in several changes they are one batch, which `undoBatch` takes back. */
  readonly batch?: string;
  /** Wait until the file has it too. Without, it is safe and active, and the file follows in a moment. */
  readonly flush?: boolean;
}

type AskForPage<Entry> = (page: { after?: string }) => Promise<Reply<readonly Entry[]>>;

export interface RestoreOptions extends ChangeOptions {
  /** Only these; left out: every field that the key may write and that differs. */
  readonly fields?: readonly FieldPath[];
}

/** Thrown when an operation is refused in whole or in part: the first error, and the whole reply. */
export class RequestError extends RepoconfError {
  /** The whole reply: `result` has what succeeded nevertheless. */
  readonly reply: Reply;

  constructor(first: ErrorEntry, reply: Reply) {
    super(first.code, first.message, first);
    this.reply = reply;
  }
}

const defaultTimeout = 10_000;
/** Milliseconds that a timer can be set to at most. */
const longestTimer = 2 ** 31 - 1;
/** So many times that is waited for a matrix: it may have to read the values of all repositories, and answers once. */
const matrixTimes = 6;
const firstRetryDelay = 100;
const longestRetryDelay = 5_000;
/** A connection that lived for less, in milliseconds, is not replaced at once. */
const shortLife = 500;

/**
 * A connection to the daemon that stays: it reconnects with backoff, and requests made meanwhile wait for it. For Node
 * and the browser; `locate` is what differs.
 */
export class RepoconfClient {
  readonly #locate: () => Promise<Address>;
  readonly #timeout: number;
  readonly #onIndexing: ClientOptions["onIndexing"];
  /** For each request that waits for its reply: it is waited for longer. */
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

  /** Connects once; throws RepoconfError 1200 (no daemon), 1201 (no answer) or what the handshake was refused with (1100, 1107). */
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

  /** Any operation, its reply as it came: errors are part of it and not thrown. Throws RepoconfError 1200 or 1201 for want of a reply. */
  async request<Name extends OperationName>(
    name: Name,
    args: OperationArguments<Name>,
  ): Promise<Reply<OperationResults[Name]>> {
    return this.#request(name, args, () => {});
  }

  /** `onReply` is called before anything that the daemon sends after the reply is taken; who awaits comes too late for that. */
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
    // With a time limit, however long, socket.io-client tells when the connection is lost.
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

  /** The daemon is reading files, and has come further: what waits for that may go on waiting. */
  #reportIndexing(progress: Partial<IndexingProgress> | undefined): void {
    if (progress !== undefined && this.#waiting.size === 0) return;
    for (const wait of this.#waiting) wait();
    this.#isIndexingReported = progress !== undefined;
    this.#onIndexing?.(progress);
  }

  /** As `request`, but its result alone; throws RequestError if there is any error in the reply. */
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
    // The daemon checks every value against the schema that the type comes from.
    return value as FieldValue<Path>;
  }

  /** Every effective value that the key may read, now or as it was at a revision. Throws RequestError 1102, 1106, 1110, 1112. */
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

  /** As `repositories`, page by page as they come. Throws RequestError. */
  async *repositoryPages(): AsyncGenerator<readonly RepositoryEntry[], void> {
    // Of very many the first ones soon, and then all as soon as can be.
    const [first, rest] = [100, limits.pageLength];
    const ask: AskForPage<RepositoryEntry> = page =>
      this.request("repo/list", { ...page, limit: page.after === undefined ? first : rest });
    yield* this.#pages(ask);
  }

  /** Sets fields of one repository, all in one revision. Throws RequestError if any is refused; those that are not are set. */
  async set(repo: string, values: FieldValues, options: ChangeOptions = {}): Promise<ChangedRepository | undefined> {
    const [changed] = await this.run("config/set", { ...values, ...options, repo });
    return changed;
  }

  /** Changes places inside values, each made from the value of that moment, so that two at once both count. Throws RequestError. */
  async edit(
    repo: string,
    edits: readonly ValueEdit[],
    options: ChangeOptions = {},
  ): Promise<ChangedRepository | undefined> {
    const [changed] = await this.run("config/set", { ...options, repo, edits });
    return changed;
  }

  /** Removes the stored values of fields, so that their defaults are used. Throws RequestError. */
  async unset(
    repo: string,
    paths: readonly FieldPath[],
    options: ChangeOptions = {},
  ): Promise<ChangedRepository | undefined> {
    const [changed] = await this.run("config/unset", { ...options, repo, fields: [...paths] });
    return changed;
  }

  /** Gives fields the values that they had at a revision, in one new revision. Throws RequestError 1110, 1112, or as `set`. */
  async restore(
    repo: string,
    to: number,
    { fields, ...options }: RestoreOptions = {},
  ): Promise<ChangedRepository | undefined> {
    const args = { ...options, repo, to, ...(fields !== undefined && { fields: [...fields] }) };
    const [changed] = await this.run("history/restore", args);
    return changed;
  }

  /** What changed in the past, the newest first; of one field if `field` is given. Asks the daemon for more as it is read. Throws RequestError. */
  async *history(repo: string, field?: FieldPath): AsyncGenerator<HistoryEntry, void> {
    const args = { repo, ...(field !== undefined && { field }) };
    yield* this.#entries<HistoryEntry>(page => this.request("history/list", { ...args, ...page }));
  }

  /** What a query finds in all repositories, by their ids (docs/protocol.md, "Queries"). Asks the daemon for more as it is read. Throws RequestError. */
  async *search(query: string): AsyncGenerator<SearchHit, void> {
    yield* this.#entries<SearchHit>(page => this.request("config/search", { query, ...page }));
  }

  /** The repositories and fields that a query spans, and the value of each field that most have (docs/protocol.md, "config/matrix"). Throws RequestError. */
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

  /** The effective values of some fields in some repositories. Those that cannot be read are left out. Throws RequestError. */
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
   * What changed in all repositories, the newest first, as far as a query asks for it (docs/protocol.md, "history/search"). Asks the
   * daemon for more as it is read. Throws RequestError.
   */
  async *activity(query = ""): AsyncGenerator<FoundHistoryEntry, void> {
    yield* this.#entries<FoundHistoryEntry>(page => this.request("history/search", { query, ...page }));
  }

  /** What belongs to a batch, the newest first; `since` (RFC 3339): it was not made before. Throws RequestError. */
  async *batch(batch: string, since?: string): AsyncGenerator<FoundHistoryEntry, void> {
    const query = since === undefined ? "" : `since:${since}`;
    yield* this.#entries<FoundHistoryEntry>(page => this.request("history/search", { query, batch, ...page }));
  }

  /** Undoes a batch, except for fields that were changed since. Throws RequestError. */
  undoBatch(batch: string, options?: UndoBatchOptions): Promise<UndoneBatch> {
    return undoBatch(this, batch, options);
  }

  /** The entries of a long list, asked for page by page as they are read. Throws RequestError. */
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
   * What changes in repositories, in order, each change once and whole; across lost connections and restarts of the daemon
   * it goes on by itself where it was. Ends when `signal` is aborted or the client closed. Throws RepoconfError if it
   * cannot go on: 1100 (the key has ended), 1102 (no such repository), 1110 (it was away for longer than history is kept:
   * list the values, then watch anew).
   */
  async *watch({ repo, since, position, signal }: WatchOptions): AsyncGenerator<ConfigChanged, void> {
    const repos = typeof repo === "string" ? [repo] : repo;
    const from = typeof since === "number" ? Object.fromEntries(repos.map(id => [id, since])) : since;
    yield* this.#watching(new Watch(repos, from, position), signal, watch => watch.changes());
  }

  /**
   * What changes in every repository that the key may read, and what happens to repositories, scopes and keys; as `watch`,
   * but for what happened to repositories, scopes and keys while the connection was lost. Throws RepoconfError 1100, and
   * 1110 where `position` is of another log or reaches back too far.
   */
  async *watchEverything({
    position,
    signal,
  }: Pick<WatchOptions, "position" | "signal"> = {}): AsyncGenerator<WatchMessage, void> {
    yield* this.#watching(new Watch(undefined, {}, position), signal, watch => watch.messages());
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

  /** Asks the daemon for the watch's events, anew after each connect. A failure ends the watch, but for a connection lost again. */
  async #begin(watch: Watch, again: boolean): Promise<void> {
    try {
      if (watch.hasBegun && watch.repos === undefined) await this.#resumeEverything(watch);
      else await this.#askFor(watch, watch.repos, revisions => watch.begin(revisions));
    } catch (error) {
      // It still answers what was asked before, and then it is the one that ends the connection.
      if (error instanceof RepoconfError && isStopping(error) && !this.#closed) return;
      const lost = error instanceof RepoconfError && (error.code === 1200 || error.code === 1201);
      // An answer that does not come leaves the watch in the dark: another connection asks anew.
      if (again && lost && error.code === 1201 && this.#socket?.connected) this.#socket.disconnect();
      // The connect that replaces the lost connection begins it anew.
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

  /** Asks first for what happens from now on, then for the past of those repositories alone that have one. */
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
    // One whose history does not reach back so far refuses them all.
    const unavailable = refused.length < 2 ? refused : (await Promise.all(refused.map(repo => ask([repo])))).flat();
    watch.release(revisions, [...lost, ...unavailable]);
  }

  /** Ends the daemon's watch, as far as no other of this client's needs it. */
  async #unwatch(repos: readonly string[] | undefined): Promise<void> {
    if (this.#closed || !this.#socket?.connected) return;
    const others = [...this.#watches];
    if (repos === undefined) {
      if (others.some(watch => watch.repos === undefined)) return;
      await this.request("config/unwatch", {}).catch(() => {});
      // Without a repository the daemon forgets them all.
      for (const watch of others) await this.#begin(watch, true);
    } else {
      const unused = repos.filter(id => !others.some(watch => watch.repos?.includes(id)));
      if (unused.length > 0) await this.request("config/unwatch", { repo: unused }).catch(() => {});
    }
  }

  /** There will be no connection any more. */
  #fail(error: unknown): void {
    for (const watch of [...this.#watches]) watch.end(error);
  }

  /** The socket, connected; waits for a reconnect that is under way. */
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
    // The first connect fails plainly; one that replaces a lost connection is tried again until it succeeds.
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
      // Reconnecting is done here, for each time the daemon has to be located and proven anew.
      reconnection: false,
      forceNew: true,
      timeout: this.#timeout,
      // The types know no agent but a name; engine.io-client under Node takes one of `node:http`.
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
    // Of a connection that is lost before the handshake begins, socket.io-client itself would say nothing. Where the daemon
    // refuses, it closes first and then tells why.
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
    // One that is lost as soon as it is there would be made again without end.
    if (Date.now() - this.#connectedAt < shortLife) await new Promise(resolve => setTimeout(resolve, shortLife));
    for (let pause = firstRetryDelay; ; pause = Math.min(pause * 2, longestRetryDelay)) {
      // Its files may be away for a moment too, while a home is put back or moved.
      const address = await this.#locate().catch(() => undefined);
      try {
        if (this.#closed) throw closedError();
        if (address !== undefined) return await this.#connectOnce(address);
      } catch (error) {
        // A key that the daemon knows no more will not come back; everything else may.
        if (this.#closed || (error instanceof RepoconfError && error.code === 1100)) throw error;
      }
      // Half of the pause is random, so that many clients do not reconnect at the same moment.
      await new Promise(resolve => setTimeout(resolve, pause * (0.5 + Math.random() / 2)));
    }
  }
}

/** The daemon is stopping and accepts no more requests; the next one will. */
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
