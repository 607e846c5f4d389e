import type { Logger } from "pino";
import { type FileSystem, realFileSystem } from "../files/file-system.ts";
import { type Home, homeAt } from "../home/home.ts";
import { privateFile } from "../home/prepare-home.ts";
import { preferredPort } from "../home/settings.ts";
import { StartProgress } from "../home/start-progress.ts";
import { defaultRescanInterval } from "../store/hand-edits/hand-edit-watcher.ts";
import { type Clock, systemClock } from "../time/clock.ts";
import { Yielding } from "../time/yielding.ts";
import { ConfigService } from "./config/config-service.ts";
import { Drafts } from "./config/drafts.ts";
import { FolderIndex } from "./folders/folder-index.ts";
import { FolderMarks } from "./folders/folder-marks.ts";
import { WorktreeUpkeep } from "./folders/worktree-upkeep.ts";
import { Worktrees } from "./folders/worktrees.ts";
import { EndpointFile, newEndpoint } from "./home/endpoint.ts";
import { HeldHome } from "./home/held-home.ts";
import { HomeFiles } from "./home/home-files.ts";
import { openHomeStore } from "./home/home-store.ts";
import { HomeUpkeep } from "./home/home-upkeep.ts";
import { OneShotRequests } from "./http/one-shot.ts";
import { createRoutes } from "./http/routes.ts";
import { Screen } from "./http/screen.ts";
import { DaemonServer } from "./http/server.ts";
import { IdleEnd } from "./idle-end.ts";
import { Authentication } from "./keys/authentication.ts";
import { AuditLog } from "./observe/audit-log.ts";
import { logReplyError, logStoreEvent } from "./observe/log-events.ts";
import { Metrics } from "./observe/metrics.ts";
import { Problems } from "./observe/problems.ts";
import { Refusals } from "./observe/refusals.ts";
import { createOperations } from "./operations/operations.ts";
import { linkOf } from "./operations/session.ts";
import { Resources } from "./resources.ts";
import { Proposals } from "./rights/proposals.ts";
import { RunState } from "./run-state.ts";
import { Admission } from "./socket/admission.ts";
import { Connections } from "./socket/connections.ts";
import { createDispatch } from "./socket/dispatch.ts";
import { ConcurrencyLimit } from "./socket/fairness/concurrency-limit.ts";
import { KeyBudget } from "./socket/fairness/key-budget.ts";

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
}

/** What it runs on; tests pass others. */
export interface DaemonSurroundings {
  /** The file system calls of durable writes. */
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
  readonly firstAnswer: Promise<void>;
  /** Finishes pending writes, then releases the port and the home. */
  close(): Promise<void>;
}

/**
 * Starts a daemon on a home: acquires the lock, reads its state, opens the port, writes daemon.json. Runs the same
 * under plain Node and under Electron. Throws HomeError, HomeInUseError or PortTakenError.
 */
export async function createDaemon(options: DaemonOptions, surroundings: DaemonSurroundings = {}): Promise<Daemon> {
  const { logger, version, onStop = () => {} } = options;
  const { clock = systemClock, rescanInterval = defaultRescanInterval, mostOpen } = surroundings;
  const startedAt = new Date(clock.now());
  const onProblem = (message: string, context: object = {}) => logger.warn(context, message);
  // Released in reverse order: at the end, or immediately if the start fails halfway.
  await using resources = new Resources();

  // The home, which no other daemon can use from here on.
  const held = await HeldHome.open(homeAt(options.home), onProblem, message => {
    logger.error(message);
    onStop();
  });
  resources.defer(() => held.release());
  const { home } = held;
  const fileSystem = held.guard(surroundings.fileSystem ?? realFileSystem);

  // Who may connect, and who is connected.
  const audit = AuditLog.open(home, clock, onProblem);
  resources.defer(() => audit?.close());
  const connections = new Connections(clock);
  // A client that revokes its own key gets its reply before its connection is closed.
  const publishKeys = () => setImmediate(() => connections.publishKeys());
  const authentication = await Authentication.open(home, clock, held.guard(realFileSystem), audit, publishKeys);
  const { keys, sessions } = authentication;
  resources.defer(() => keys.close());

  // The settings and scopes, the repositories with their values, and the drafts of values.
  const files = await HomeFiles.open(home, clock, onProblem);
  const { scopes, settings } = files;
  const startProgress = new StartProgress(home, clock);
  const store = await openHomeStore(
    { held, files, address: options.log },
    { fileSystem, clock, onProblem },
    {
      rescanInterval,
      ...(mostOpen !== undefined && { mostOpen }),
      onRecovering: progress => startProgress.report(progress),
      onIndexing: () => connections.publishIndexing(store.indexing),
    },
  );
  const worktrees = new Worktrees(store, clock);
  keys.cover = grants => worktrees.cover(grants);
  const endpointFile = new EndpointFile(held, clock, fileSystem);
  resources.defer(async () => {
    await store.close();
    await endpointFile.remove();
  });
  const worktreeUpkeep = new WorktreeUpkeep({ store, worktrees }, clock, onProblem);
  resources.defer(() => worktreeUpkeep.close());
  // Includes the scopes that other machines changed meanwhile.
  await files.scopeFiles.writeRepositorySchema();
  const drafts = await Drafts.open({
    file: privateFile(home, home.draftsFile, fileSystem),
    scopes,
    hasRepository: id => store.repositories.has(id),
    onChanged: changed => connections.publishDrafts(changed),
    onProblem,
    onFound: found => store.findings.add(found),
  });
  resources.defer(() => drafts.idle());
  const proposals = await Proposals.open({ home, fileSystem, clock, store, keys, connections, onProblem });
  resources.defer(() => proposals.idle());

  // The port and the Unix socket, which do not answer yet.
  const server = await DaemonServer.listen({
    port: options.port ?? settings.values.port ?? preferredPort,
    insist: options.port !== undefined,
    socketFolder: home.socket,
    clock,
    onProblem,
  });
  resources.defer(() => server.close());
  const endpoint = newEndpoint(server, version, startedAt, home);

  // From a connection to a message, and from a message to its reply.
  const runState = new RunState(held);
  const refusals = new Refusals(logger, audit);
  const yielding = new Yielding(clock);
  const problems = new Problems({ files, store, clock, onChange: all => connections.publishProblems(all) });
  resources.defer(() => problems.close());
  const metrics = new Metrics({ version, startedAt, connections, store, refusals, yielding, problems });
  const service = new ConfigService(store, scopes, yielding);
  const marks = new FolderMarks(new FolderIndex(store, clock), held, onProblem);
  resources.defer(() => marks.close());
  const budget = new KeyBudget();
  const dispatch = createDispatch({
    operations: createOperations(
      { store, scopes, service, drafts, yielding, clock, runState, folders: { marks, worktrees } },
      { authentication, connections, server, proposals, onKeysChanged: publishKeys },
      { held, endpoint, store, connections, refusals, problems, onStop },
    ),
    budget,
    concurrency: new ConcurrencyLimit(),
    yielding,
    authorize: caller => {
      runState.assertRunning();
      authentication.assertValid(caller);
    },
    onError: (error, operation) => {
      metrics.countError(error.code);
      logReplyError(logger, error, operation);
    },
    onAsked: (caller, operation) => audit?.operationAsked(caller, operation),
    onRefused: (caller, operation, { code }) => audit?.operationRefused(caller, operation, code),
  });
  const clients = {
    ...{ authentication, budget, dispatch: runState.track(dispatch) },
    onCount: () => idleEnd.check(),
    onRefusal: refusals.noteConnection.bind(refusals),
  };
  const oneShot = new OneShotRequests({ ...clients, clock });
  const countClients = () => connections.count + oneShot.count;
  const idleEnd = new IdleEnd({ timeout: options.idleTimeout, clock, sessions, logger, countClients, onStop });
  new Admission({ ...clients, server, endpoint, connections }, { store, service, yielding }).begin();

  // What happens without a request: changes of the store, of the home's files, and of the home itself.
  store.events.subscribe(event => {
    logStoreEvent(logger, event, store.repositories.get(event.state.id)?.files.values.path);
    if (event.kind === "changed") metrics.countChange(event.change.source);
    connections.publish(event, service, store);
    if (event.kind !== "removed") return;
    drafts.dropRepository(event.state.id);
    proposals.dropRepository(event.state.id);
  });
  resources.defer(() => files.close());
  const upkeep = new HomeUpkeep({ held, clock, rescanInterval, endpointFile, authentication, connections, onProblem });
  resources.defer(() => upkeep.close());
  files.watch({ store, drafts, connections, problems, logger }, name => upkeep.hint(name));

  // Everything that answers requests is ready.
  const screen = options.screenFolder === undefined ? undefined : await Screen.open(options.screenFolder);
  server.open({
    allowedOrigins: () => settings.values.origins ?? [],
    onRequest: createRoutes({ endpoint, runState, problems, screen, server, authentication, metrics, refusals }),
    onRefusal: (refusal, request) => refusals.noteRequest(refusal, request),
    oneShot,
  });
  await endpointFile.write(endpoint);
  startProgress.end();
  upkeep.start();
  marks.start();
  store.watchFiles();
  runState.begin();
  idleEnd.check();
  logger.info({ url: server.url, home: home.folder, ipv6: server.ipv6 }, "running");

  const running = resources.move();
  const finish = async () => {
    idleEnd.close();
    logger.info("stopping: finishing pending writes");
    await runState.stop();
    connections.disconnectAll();
  };
  let closing: Promise<void> | undefined;
  return {
    url: server.url,
    home,
    otherPort: options.port === undefined && server.port !== (settings.values.port ?? preferredPort),
    createLink: lifetime => linkOf(sessions.createCode(lifetime), server.screenOrigin),
    countClients: keyId => connections.countOf(keyId),
    firstAnswer: runState.firstAnswer,
    close: () => {
      closing ??= finish().finally(() => running[Symbol.asyncDispose]());
      return closing;
    },
  };
}
