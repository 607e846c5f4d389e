import { basename } from "node:path";
import type { Logger } from "pino";
import { errorNames, RepoconfError } from "../../shared/errors.ts";
import { allowsInScope } from "../../shared/grants.ts";
import { clientText } from "../../shared/handshake.ts";
import { type DaemonStatus, protocolVersion } from "../../shared/protocol.ts";
import { type FileSystem, realFileSystem } from "../files/file-system.ts";
import { FolderWatcher } from "../files/folder-watcher.ts";
import { RotatingLog } from "../files/rotating-log.ts";
import { sign } from "../home/credentials.ts";
import { readEndpoint } from "../home/endpoint-file.ts";
import { type Home, homeAt } from "../home/home.ts";
import { identityProof } from "../home/identity.ts";
import { localSocketPath } from "../home/local-socket.ts";
import { type Lock, takeLock } from "../home/lock.ts";
import { assertKnownFormat, HomeError, makeHomeFolder, prepareHome, privateFile } from "../home/prepare-home.ts";
import { completeRestore } from "../home/restore.ts";
import { Settings } from "../home/settings.ts";
import { StartProgress } from "../home/start-progress.ts";
import { ScopeFiles } from "../scopes/scope-files.ts";
import { Scopes } from "../scopes/scopes.ts";
import { defaultRescanInterval } from "../store/file-store.ts";
import { type Clock, systemClock } from "../time/clock.ts";
import { inTurn } from "../time/in-turn.ts";
import { Yielding } from "../time/yielding.ts";
import { ConfigChanges } from "./config/config-changes.ts";
import { ConfigService } from "./config/config-service.ts";
import { Drafts } from "./config/drafts.ts";
import { keepEndpoint, newEndpoint, removeEndpoint, writeEndpoint } from "./home/endpoint.ts";
import { HeldHome } from "./home/held-home.ts";
import { openHomeStore } from "./home/home-store.ts";
import { HomeUpkeep } from "./home/home-upkeep.ts";
import { createRoutes } from "./http/routes.ts";
import { Screen } from "./http/screen.ts";
import { openServer } from "./http/server.ts";
import { Keys, UnauthorizedError } from "./keys/keys.ts";
import { Sessions } from "./keys/sessions.ts";
import { AuditLog } from "./observe/audit-log.ts";
import { logStoreEvent } from "./observe/log-store-event.ts";
import { Metrics } from "./observe/metrics.ts";
import { configOperations } from "./operations/config.ts";
import { daemonOperations } from "./operations/daemon.ts";
import { draftOperations } from "./operations/draft.ts";
import { fileOperations } from "./operations/file.ts";
import { historyOperations } from "./operations/history.ts";
import { keyOperations } from "./operations/key.ts";
import { repositoryOperations } from "./operations/repo.ts";
import { scopeOperations } from "./operations/scope.ts";
import { sessionOperations } from "./operations/session.ts";
import { trustOperations } from "./operations/trust.ts";
import type { Caller } from "./socket/caller.ts";
import { Connections } from "./socket/connections.ts";
import { createDispatch, type Dispatch } from "./socket/dispatch.ts";
import { Gate } from "./socket/gate.ts";
import { KeyBudget } from "./socket/key-budget.ts";

export const preferredPort = 7420;
/** The audit file and the rotated one together have at most twice this size. */
const auditFileBytes = 5_000_000;

export interface DaemonOptions {
  /** The home's folder, absolute. */
  readonly home: string;
  readonly version: string;
  /** The port to use or fail; 0 uses any free one. If omitted: the port in the settings, else 7420, else a free one. */
  readonly port?: number;
  readonly logger: Logger;
  /** The address of a shared log. If omitted: the address in the settings, else the home has its own log. */
  readonly log?: string;
  /**
   * Called when `daemon/stop` is requested, no client was connected for `idleTimeout`, or the home was lost;
   * the code that created the daemon closes it.
   */
  onStop?(): void;
  /** Milliseconds without clients after which the daemon stops; if omitted, it keeps running. */
  readonly idleTimeout?: number;
  /** The folder of the built screen; if omitted, there is no screen. */
  readonly screenFolder?: string;
  /** The file system calls of durable writes; tests pass failing ones. */
  readonly fileSystem?: FileSystem;
  /** Defaults to the system's. */
  readonly clock?: Clock;
  /** Milliseconds between two full comparisons of the home with the known state. */
  readonly rescanInterval?: number;
  /** The maximum number of open repositories. */
  readonly mostOpen?: number;
}

export interface Daemon {
  readonly url: string;
  readonly home: Home;
  /** The preferred port was in use, so this is another one. */
  readonly otherPort: boolean;
  /** A link to the screen that creates a session; it works once, for the given number of milliseconds. */
  createLink(lifetime: number): string;
  /** How many clients are connected with this key. */
  countClients(keyId: string): number;
  /** Finishes pending writes, then releases the port and the home. */
  close(): Promise<void>;
}

/** Another daemon is running on this home. */
export class HomeInUseError extends HomeError {}

/**
 * Starts a daemon on a home: acquires the lock, reads its state, opens the port, writes daemon.json. Runs the same
 * under plain Node and under Electron. Throws HomeError, HomeInUseError or PortTakenError.
 */
export async function createDaemon(options: DaemonOptions): Promise<Daemon> {
  const home = homeAt(options.home);
  await assertKnownFormat(home);
  await makeHomeFolder(home);
  // Released in reverse order: at the end, or immediately if the start fails halfway.
  await using resources = new AsyncDisposableStack();
  const lock = await lockHome(home);
  resources.defer(() => lock.release());
  const { finish, ...started } = await startDaemon(options, home, lock, resources);
  const held = resources.move();
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= finish().finally(() => held.disposeAsync());
    return closing;
  };
  return { ...started, home, close };
}

/** Adds the resources of a running daemon to `resources`. `finish` refuses new requests and waits for running ones. */
async function startDaemon(
  options: DaemonOptions,
  home: Home,
  lock: Lock,
  resources: AsyncDisposableStack,
): Promise<Omit<Daemon, "home" | "close"> & { finish(): Promise<void> }> {
  const { logger, version, clock = systemClock } = options;
  const startedAt = new Date(clock.now());
  const problem = (message: string, context: object = {}) => logger.warn(context, message);
  const held = new HeldHome(home, lock, message => {
    logger.error(message);
    options.onStop?.();
  });
  const fileSystem = held.guard(options.fileSystem ?? realFileSystem);
  const rescanInterval = options.rescanInterval ?? defaultRescanInterval;
  const before = await completeRestore(home);
  if (before !== undefined) problem("completed an interrupted restore", { before });
  await prepareHome(home);

  const scopes = new Scopes();
  const scopeFiles = new ScopeFiles(home, scopes, problem, clock);
  await scopeFiles.reload();
  const settings = await Settings.open(home, clock, problem);
  const audit = openAudit(home, clock, problem);
  resources.defer(() => audit?.close());
  const keys = await Keys.open(home, clock, held.guard(realFileSystem), (event, id) => audit?.key(event, id));
  resources.defer(() => keys.close());
  const startProgress = new StartProgress(home, clock);
  // Replaced below, once everything that depends on the scopes exists.
  let reloadScopes: () => Promise<unknown> = () => scopeFiles.reload();
  const store = await openHomeStore({
    home,
    scopeFiles,
    reloadScopes: () => reloadScopes(),
    settings: () => settings.values,
    ...(options.log !== undefined && { address: options.log }),
    scopes,
    clock,
    onProblem: problem,
    fileSystem,
    assertHeld: () => {
      held.check();
      held.assertNotLost();
    },
    rescanInterval,
    ...(options.mostOpen !== undefined && { mostOpen: options.mostOpen }),
    onRecovering: progress => startProgress.report(progress),
    onIndexing: () => connections.publishIndexing(),
  });
  let endpointWritten = false;
  resources.defer(async () => {
    await store.close();
    // If the home was replaced, the file belongs to another daemon.
    if (endpointWritten && held.check()) await removeEndpoint(home);
  });
  // Includes the scopes that other machines changed meanwhile.
  await scopeFiles.writeRepositorySchema();
  const drafts = await Drafts.open({
    file: privateFile(home, home.draftsFile, fileSystem),
    scopes,
    hasRepository: id => store.has(id),
    onChanged: changed => connections.publishDrafts(changed),
    onProblem: problem,
  });
  resources.defer(() => drafts.idle());
  const yielding = new Yielding(clock);
  const service = new ConfigService(store, scopes, yielding);
  const changes = new ConfigChanges(store, scopes);
  // A client that revokes its own key gets its reply before its connection is closed.
  const publishKeys = () => setImmediate(() => connections.publishKeys());
  const sessions = new Sessions(clock, publishKeys, (event, id) => audit?.key(event, id));
  const budget = new KeyBudget();

  const refusals = new Map<string, number>();
  const countRefusal = (cause: string, keyId?: string) => {
    refusals.set(cause, (refusals.get(cause) ?? 0) + 1);
    // A single tab that stays open would fill the audit file.
    if (cause !== "page") audit?.connectionRefused(cause, keyId);
  };
  const metrics = new Metrics({
    version,
    startedAt,
    sockets: () => connections.count,
    repositories: () => [...store.ids()].length,
    refusals: () => refusals,
    yields: () => yielding.yields,
  });
  const onSocketFailure = (error: unknown) => {
    problem("no Unix socket; tools connect through the port", { error: String(error) });
    return undefined;
  };
  const httpServer = await openServer({
    port: options.port ?? settings.values.port ?? preferredPort,
    insist: options.port !== undefined,
    socketPath: await localSocketPath(home.socket).catch(onSocketFailure),
    onSocketFailure,
    clock,
    allowedOrigins: () => settings.values.origins ?? [],
    onRequest: createRoutes({
      version,
      isReady: () => state === "running",
      identityProof: nonce => identityProof(endpoint, nonce),
      screen: options.screenFolder === undefined ? undefined : await Screen.open(options.screenFolder),
      isForScreen: request => httpServer.isForScreen(request),
      metrics: async key => {
        if (isOwner(key)) return metrics.render();
        countRefusal("key");
        logger.warn("a request for /metrics without the owner's key was refused");
        return undefined;
      },
    }),
    onRefusal: (refusal, { headers: { host, origin } }) => {
      countRefusal(refusal.cause);
      if (refusal.cause === "page") return;
      logger.warn({ cause: refusal.cause, host, origin }, refusal.message);
    },
  });
  resources.defer(() => httpServer.close());
  const linkOf = (code: string, origin = httpServer.screenOrigin) => `${origin}/#code=${code}`;
  /** Whether the caller's key or session is still valid. */
  const isValid = (caller: Caller) => (caller.kind === "session" ? sessions.isValid(caller) : keys.isValid(caller));
  const endpoint = newEndpoint(
    {
      url: `http://127.0.0.1:${httpServer.port}`,
      ...(httpServer.socket !== undefined && { socket: httpServer.socket }),
    },
    version,
    startedAt,
  );

  let state: "starting" | "running" | "stopping" = "starting";
  const running = new Set<Promise<void>>();
  const dispatch = track(
    running,
    createDispatch({
      operations: {
        ...configOperations(service, changes, store, scopes, yielding, clock),
        ...historyOperations(service, changes, store, scopes, yielding, clock),
        ...repositoryOperations(service, store, assertRunning),
        ...fileOperations(store),
        ...scopeOperations(scopes),
        ...draftOperations(drafts),
        ...trustOperations(store, scopes, yielding),
        ...sessionOperations({
          sessions,
          linkOf: async (code, byAddress) =>
            linkOf(code, byAddress ? await httpServer.openScreenByAddress() : undefined),
        }),
        ...keyOperations({
          keys,
          sessions,
          onChanged: publishKeys,
          countConnections: id => connections.countOf(id),
          disconnect: id => connections.disconnectKey(id),
        }),
        ...daemonOperations(status, () => setImmediate(() => options.onStop?.())),
      },
      budget,
      gate: new Gate(),
      yielding,
      authorize: caller => {
        assertRunning();
        if (!isValid(caller)) throw new UnauthorizedError(caller.keyId);
      },
      onError: (error, operation) => {
        metrics.countError(error.code);
        if (error.code === 1500) logger.error({ operation, err: error.cause }, "internal error in an operation");
        else
          logger.debug({ operation, code: error.code, repo: error.repo, field: error.field }, errorNames[error.code]);
      },
      onRefused: (caller, operation, { code }) => audit?.operationRefused(caller, operation, code),
    }),
  );
  const connections = new Connections({
    engine: httpServer.engine,
    dispatch,
    service,
    store,
    budget,
    yielding,
    clock,
    authenticate: key => keys.authenticate(key),
    authenticateProof: (proof, handshake, allowsSessions) =>
      (allowsSessions ? sessions.prove(proof, handshake) : undefined) ??
      keys.authenticateProof(proof, clientText(handshake)),
    hasOwnOrigin: request => httpServer.hasOwnOrigin(request),
    connectionOf: request => httpServer.connectionOf(request),
    channelOf: request => httpServer.channelOf(request),
    signAsDaemon: text => sign(endpoint.instanceSecret, text),
    isValid,
    onCount: count => watchIdleness(count),
    onUse: caller => (caller.kind === "session" ? sessions : keys).noteUse(caller),
    onRefusal: error => {
      countRefusal(error.code === 1100 ? "key" : "limit", error instanceof UnauthorizedError ? error.keyId : undefined);
      logger.warn(
        { code: error.code },
        error.code === 1100 ? "a connection without a valid key was refused" : error.message,
      );
    },
  });
  store.subscribe(event => {
    logStoreEvent(logger, event, store.file(event.state.id));
    if (event.kind === "changed") metrics.countChange(event.change.source);
    connections.publish(event);
    if (event.kind === "removed") drafts.dropRepository(event.state.id);
  });

  // Watches the home's own files; the store watches the repositories.
  const watcher = new FolderWatcher(error => problem("a folder cannot be watched", { error: String(error) }));
  resources.defer(() => watcher.close());
  const reloadSettings = inTurn(
    () => settings.reload(),
    error => problem("settings.json cannot be read", { error: String(error) }),
  );
  reloadScopes = inTurn(
    async () => {
      const changed = await scopeFiles.reload();
      // Before the changes that follow from them.
      store.shareScopes();
      if (changed.length === 0) return;
      await scopeFiles.writeRepositorySchema();
      store.reinterpret();
      drafts.reinterpret();
      for (const scope of changed) {
        logger.info({ scope }, "a scope changed");
        connections.publishScope(scope, caller => allowsInScope(caller.grants, "read", scope));
      }
    },
    error => problem("the scopes cannot be read", { error: String(error) }),
  );
  const upkeep = new HomeUpkeep({
    home,
    held,
    clock,
    interval: rescanInterval,
    repair: async () => {
      for (const id of sessions.endLapsed()) connections.disconnectKey(id);
      const following = keys.followOwnerKey(ended => {
        logger.warn("owner.key was removed or replaced: the old key and all sessions were revoked");
        // Removing the owner's key revokes everything that had its rights.
        for (const id of [ended, ...sessions.endAll()]) connections.disconnectKey(id);
      });
      // Each must run even if the other fails.
      const [followed, kept] = await Promise.allSettled([following, keepEndpoint(home, endpoint, clock, fileSystem)]);
      if (kept.status === "rejected") throw kept.reason;
      if (kept.value) problem("daemon.json was missing or changed, and was written again");
      if (followed.status === "rejected") throw followed.reason;
    },
    onProblem: problem,
  });
  resources.defer(() => upkeep.close());
  const homeWatched = watcher.add(home.folder, name => {
    upkeep.hint(name);
    if (name === undefined || name === basename(home.settingsFile)) void reloadSettings();
  });
  const scopesWatched = watcher.add(home.scopes, () => void reloadScopes());
  // Reads changes that were made before the watches began.
  void homeWatched.then(reloadSettings);
  void scopesWatched.then(() => reloadScopes());

  let cancelIdleEnd: (() => void) | undefined;
  function watchIdleness(clients: number): void {
    cancelIdleEnd?.();
    if (options.idleTimeout === undefined || clients > 0 || state === "stopping") return;
    cancelIdleEnd = clock.schedule(options.idleTimeout, () => {
      // A window that lost its connection, for example while the machine sleeps, reconnects and needs its session.
      if (sessions.list().length > 0) return watchIdleness(connections.count);
      logger.info("stopping: no client was connected for a while");
      options.onStop?.();
    });
  }

  function assertRunning(): void {
    held.assertNotLost();
    if (state === "stopping")
      throw new RepoconfError(1113, "The daemon is stopping. Reconnect when it is running again.");
  }

  /** Whether the text is the owner's key. */
  function isOwner(key: string): boolean {
    try {
      const caller = keys.authenticate(key);
      keys.noteUse(caller);
      return caller.owner;
    } catch (error) {
      if (error instanceof RepoconfError) return false;
      throw error;
    }
  }

  function status(): DaemonStatus {
    const { indexing } = store;
    return {
      version,
      protocol: protocolVersion,
      startedAt: startedAt.toISOString(),
      home: home.folder,
      url: endpoint.url,
      pid: process.pid,
      repositories: [...store.ids()].length,
      ...(indexing && { indexing }),
      sockets: connections.count,
      refusals: Object.fromEntries(refusals),
      problems: [settings.problem, store.problem, ...scopeFiles.problems, ...store.scopeProblems].filter(
        one => one !== undefined,
      ),
    };
  }

  async function finish(): Promise<void> {
    state = "stopping";
    cancelIdleEnd?.();
    logger.info("stopping: finishing pending writes");
    while (running.size > 0) await Promise.allSettled(running);
    connections.disconnectAll();
  }

  // Everything that answers requests is ready.
  httpServer.open();
  await writeEndpoint(home, endpoint, fileSystem);
  endpointWritten = true;
  startProgress.end();
  upkeep.start();
  store.watchFiles();
  state = "running";
  watchIdleness(0);
  logger.info({ url: endpoint.url, home: home.folder, ipv6: httpServer.ipv6 }, "running");
  const otherPort = options.port === undefined && httpServer.port !== (settings.values.port ?? preferredPort);
  const createLink = (lifetime: number) => linkOf(sessions.createCode(lifetime));
  return { url: endpoint.url, otherPort, createLink, countClients: keyId => connections.countOf(keyId), finish };
}

/** Undefined if the audit file cannot be written, which is logged: the daemon works without it. */
function openAudit(
  home: Home,
  clock: Clock,
  onProblem: (message: string, context: object) => void,
): AuditLog | undefined {
  try {
    return new AuditLog(new RotatingLog(home.auditFile, auditFileBytes), clock);
  } catch (error) {
    onProblem("cannot write audit.log; events are not being audited", { error: String(error) });
    return undefined;
  }
}

async function lockHome(home: Home): Promise<Lock> {
  const lock = takeLock(home.lockFile);
  if (lock !== undefined) return lock;
  const other = await readEndpoint(home);
  const who =
    other === undefined
      ? "another daemon that is starting or stopping"
      : `the daemon with pid ${other.pid} at ${other.url}`;
  throw new HomeInUseError(
    `The home ${home.folder} is in use by ${who}. Use that daemon, stop it, or choose another home with --home.`,
  );
}

/** Tracks running requests, so that a stop can wait for them. */
function track(running: Set<Promise<void>>, dispatch: Dispatch): Dispatch {
  return (message, connection) => {
    const run = dispatch(message, connection).finally(() => running.delete(run));
    running.add(run);
    return run;
  };
}
