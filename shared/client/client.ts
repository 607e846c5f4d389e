import { configValue } from "../config.ts";
import { splitConfigPath } from "../config-path.ts";
import { RepoconfError } from "../errors.ts";
import { limits } from "../limits.ts";
import type {
  ChangedRepository,
  ConfigChanged,
  FoundHistoryEntry,
  HistoryEntry,
  IndexingProgress,
  Matrix,
  MatrixRow,
  OperationArguments,
  OperationName,
  OperationResults,
  Reply,
  RepositoryEntry,
  SearchHit,
} from "../protocol.ts";
import type { ValueEdit } from "../value-edit.ts";
import type { Address } from "./address.ts";
import { Connection } from "./connection.ts";
import type { ConfigScopes, FieldPath, FieldValue, FieldValues } from "./fields.ts";
import { entriesOf, pagesOf } from "./pages.ts";
import { RequestError } from "./request-error.ts";
import { Requests } from "./requests.ts";
import { type UndoBatchOptions, type UndoneBatch, undoBatch } from "./undo-batch.ts";
import { Watch, type WatchMessage, type WatchOptions } from "./watch.ts";
import { Watches } from "./watches.ts";

export { RequestError } from "./request-error.ts";

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

export interface RestoreOptions extends ChangeOptions {
  /** Restore only these fields. If left out: every field that differs and that the key may write. */
  readonly fields?: readonly FieldPath[];
}

const defaultTimeout = 10_000;

/**
 * A connection to the daemon that reconnects with backoff; requests made meanwhile wait. Works in Node and in browsers, with a
 * different `locate` for each.
 */
export class RepoconfClient {
  readonly #connection: Connection;
  readonly #requests: Requests;
  readonly #watches: Watches;

  constructor({ locate, timeout = defaultTimeout, onIndexing }: ClientOptions) {
    this.#connection = new Connection({
      locate,
      timeout,
      onMessage: message => {
        if (message[0] === "daemon" && message[1] === "indexing") this.#requests.reportIndexing(message[2]);
        else this.#watches.take(message);
      },
      onLost: () => this.#watches.lose(),
      onReplaced: () => this.#watches.resume(),
      onFailed: error => this.#watches.end(error),
    });
    this.#requests = new Requests(this.#connection, timeout, onIndexing);
    this.#watches = new Watches(this.#connection, this.#requests);
  }

  /**
   * Connects once. Throws RepoconfError 1200 (no daemon), 1201 (no answer), or the reason the handshake was refused (1100, 1107).
   */
  async connect(): Promise<void> {
    await this.#connection.connect();
  }

  close(): void {
    this.#connection.close();
    this.#watches.end();
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
    return this.#requests.send(name, args);
  }

  /** Like `request`, but returns only the result. Throws RequestError if the reply contains any error. */
  async run<Name extends OperationName>(name: Name, args: OperationArguments<Name>): Promise<OperationResults[Name]> {
    return (await this.#requests.sendWhole(name, args)).result;
  }

  /** One field's effective value. Throws RequestError 1011, 1102, 1106, and RepoconfError 1105 if the key may not see it. */
  async get<Path extends FieldPath>(repo: string, path: Path): Promise<FieldValue<Path>> {
    const { result, masked = [] } = await this.#requests.sendWhole("config/list", { repo, field: path });
    if (masked.length > 0)
      throw new RepoconfError(1105, `This key may not see the value of ${path}.`, { repo, field: path });
    const split = splitConfigPath(path);
    const value = split && configValue(result, split.scope, split.field);
    // The daemon validates every value with the schema that the type is derived from.
    return value as FieldValue<Path>;
  }

  /** Every effective value that the key may see, now or at a revision. Throws RequestError 1102, 1106, 1110, 1112. */
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
    yield* pagesOf<RepositoryEntry>(page =>
      this.request("repo/list", { ...page, limit: page.after === undefined ? first : rest }),
    );
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
    yield* entriesOf<HistoryEntry>(page => this.request("history/list", { ...args, ...page }));
  }

  /**
   * Searches all repositories (docs/protocol.md, "Queries"); results are ordered by repository id. Loads further pages as you
   * iterate. Throws RequestError.
   */
  async *search(query: string): AsyncGenerator<SearchHit, void> {
    yield* entriesOf<SearchHit>(page => this.request("config/search", { query, ...page }));
  }

  /**
   * The repositories and fields that match a query, and each field's most common value (docs/protocol.md, "config/matrix").
   * Throws RequestError.
   */
  async matrix(query: string): Promise<Required<Matrix>> {
    const { result, next } = await this.#requests.sendWhole("config/matrix", { query });
    const repositories = [...result.repositories];
    for (let after = next; after !== undefined; ) {
      const more = await this.#requests.sendWhole("config/matrix", { query, after });
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
    yield* entriesOf<FoundHistoryEntry>(page => this.request("history/search", { query, ...page }));
  }

  /**
   * The changes of a batch, newest first. `since` (RFC 3339) is a time before which the batch did not exist. Throws RequestError.
   */
  async *batch(batch: string, since?: string): AsyncGenerator<FoundHistoryEntry, void> {
    const query = since === undefined ? "" : `since:${since}`;
    yield* entriesOf<FoundHistoryEntry>(page => this.request("history/search", { query, batch, ...page }));
  }

  /** Undoes a batch, except for fields that were changed since. Throws RequestError. */
  undoBatch(batch: string, options?: UndoBatchOptions): Promise<UndoneBatch> {
    return undoBatch(this, batch, options);
  }

  /**
   * Changes in repositories, in order, each exactly once and complete. It resumes by itself after lost connections and daemon
   * restarts. Ends when `signal` is aborted or the client is closed. Throws RepoconfError if it cannot resume: 1100 (the key was
   * revoked or has expired), 1102 (no such repository), 1110 (it was away for longer than history is kept: list the values, then
   * watch again; or a backup was restored).
   */
  async *watch({ repo, since, position, signal, onBegin }: WatchOptions): AsyncGenerator<ConfigChanged, void> {
    const repos = typeof repo === "string" ? [repo] : repo;
    const from = typeof since === "number" ? Object.fromEntries(repos.map(id => [id, since])) : since;
    const watch = new Watch(repos, from, position, onBegin);
    yield* this.#watches.run(watch, signal, watch.changes());
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
    const watch = new Watch(undefined, {}, position, onBegin);
    yield* this.#watches.run(watch, signal, watch.messages());
  }
}
