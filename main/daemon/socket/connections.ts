import type { Server, Socket } from "socket.io";
import type { Grants } from "../../../shared/grants.ts";
import type {
  ClientToServerEvents,
  DraftsChanged,
  EventMessage,
  IndexingProgress,
  ProgressMessage,
  ServerToClientEvents,
} from "../../../shared/protocol.ts";
import type { Store } from "../../store/store.ts";
import type { Actor, StoreEvent } from "../../store/types.ts";
import type { Clock } from "../../time/clock.ts";
import type { ConfigService } from "../config/config-service.ts";
import { sealPosition } from "../config/sealed-position.ts";
import type { Caller } from "../keys/caller.ts";
import { isProgressDue } from "./catch-up.ts";
import type { Connection } from "./connection.ts";
import type { ConnectionLease } from "./fairness/key-budget.ts";

interface SocketData {
  caller?: Caller;
  /** The daemon's own proof, for a client that proved its key. */
  proof?: string;
  lease?: ConnectionLease;
}
type Nothing = Record<string, never>;
export type SocketServer = Server<ClientToServerEvents, ServerToClientEvents, Nothing, SocketData>;
export type ServerSocket = Socket<ClientToServerEvents, ServerToClientEvents, Nothing, SocketData>;

/** Milliseconds between two events about the progress of indexing. */
const indexingPause = 500;

/** The connected clients, and the events that are sent to those that watch and may see them. */
export class Connections {
  /** Undefined as long as no client has connected. */
  io: SocketServer | undefined;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #connections = new Set<Connection>();
  /** When the progress of indexing was last sent, by the clock's `monotonic()`. */
  #indexingSentAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#connections.size;
  }

  /** The number of connections with this key. */
  countOf(keyId: string): number {
    return [...this.#connections].filter(({ caller }) => caller.keyId === keyId).length;
  }

  add(connection: Connection): void {
    this.#connections.add(connection);
  }

  delete(connection: Connection): void {
    this.#connections.delete(connection);
  }

  /** Ends the connections of a key that was revoked. */
  disconnectKey(keyId: string): void {
    for (const connection of [...this.#connections])
      if (connection.caller.keyId === keyId) connection.socket.disconnect();
  }

  disconnectAll(): void {
    for (const connection of [...this.#connections]) connection.socket.disconnect();
  }

  /** Sends a store's event to the clients that watch it and may see it. */
  publish(event: StoreEvent, service: ConfigService, store: Store): void {
    if (event.kind !== "changed") {
      this.#sendToAll(caller => {
        const entry = service.viewEntry(caller, event);
        return entry && ["repo", event.kind === "found" ? "health" : event.kind, entry];
      });
      return;
    }
    const { id, revision } = event.state;
    if (event.change.source === "recovery") {
      // What changed is not known. They reconnect, and learn that they must read the values again.
      for (const connection of [...this.#connections]) if (connection.watches(id)) connection.socket.disconnect();
      return;
    }
    const position = event.isPart ? undefined : event.change.position;
    this.#send(
      connection => connection.watches(id),
      (caller, isCaughtUp) => {
        const change = service.viewChange(caller, id, event.change);
        const where = isCaughtUp && position !== undefined ? { position: sealPosition(position) } : {};
        if (change === undefined) return service.viewProgress(caller, id, revision, where);
        return ["config", "changed", { ...change, ...where }];
      },
      event.change.actor,
      (connection, made) => {
        if (made[1] === "progress" && !isProgressDue(connection.passOver(id), store, id)) return false;
        connection.markSent(id);
        return true;
      },
    );
  }

  publishScope(scope: string, canSee: (caller: Caller) => boolean): void {
    this.#sendToAll(caller => (canSee(caller) ? ["scope", "changed", { scope }] : undefined));
  }

  publishKeys(): void {
    this.#sendToAll(caller => (caller.owner ? ["key", "changed", {}] : undefined));
  }

  /** Tells the owner and the key that its proposals have changed. */
  publishProposals(key: string): void {
    this.#send(
      ({ watchesEverything, caller }) => watchesEverything && (caller.owner || caller.keyId === key),
      () => ["proposal", "changed", {}],
    );
  }

  publishDrafts(changed: DraftsChanged): void {
    this.#sendToAll(caller => (caller.owner ? ["draft", "changed", changed] : undefined));
  }

  publishProblems(problems: readonly string[]): void {
    this.#sendToAll(caller => (caller.owner ? ["daemon", "problems", { problems }] : undefined));
  }

  /** Sends the progress of reading new files to clients whose requests may wait for it. */
  publishIndexing(progress: IndexingProgress | undefined): void {
    const now = this.#clock.monotonic();
    if (now < this.#indexingSentAt + indexingPause) return;
    this.#indexingSentAt = now;
    for (const connection of [...this.#connections]) connection.sendIndexing(progress);
  }

  /** Sends an event to those that watch everything. */
  #sendToAll(message: (caller: Caller) => EventMessage | undefined): void {
    this.#send(connection => connection.watchesEverything, message);
  }

  /**
   * Creates and encodes the message once for all clients with the same rights, actor and position, and sends it to those
   * that are interested and for which `isDue` is true.
   */
  #send(
    interested: (connection: Connection) => boolean,
    message: (caller: Caller, isCaughtUp: boolean) => EventMessage | ProgressMessage | undefined,
    actor?: Actor,
    isDue: (connection: Connection, made: EventMessage | ProgressMessage) => boolean = () => true,
  ): void {
    const groups = new Map<string, { readonly made: ReturnType<typeof message>; readonly sockets: string[] }>();
    for (const connection of [...this.#connections]) {
      if (!interested(connection) || !connection.checkValid()) continue;
      const { caller, socket } = connection;
      const isOwn = actor?.kind === "key" && actor.id === caller.actor.id;
      const alike = `${rightsOf(caller)} ${isOwn} ${connection.isCaughtUp}`;
      let group = groups.get(alike);
      if (group === undefined) {
        group = { made: message(caller, connection.isCaughtUp), sockets: [] };
        groups.set(alike, group);
      }
      const { made } = group;
      if (made !== undefined && isDue(connection, made) && socket.hasRoom()) group.sockets.push(socket.id);
    }
    for (const { made, sockets } of groups.values())
      if (made !== undefined && sockets.length > 0) this.io?.to(sockets).emit("svc", ...made);
  }
}

const rightsTexts = new WeakMap<Grants, string>();

/** The same text for callers with the same rights. */
function rightsOf({ grants, rights, owner }: Caller): string {
  let text = rightsTexts.get(grants);
  if (text === undefined) {
    text = JSON.stringify(grants);
    rightsTexts.set(grants, text);
  }
  return `${text} ${rights.join()} ${owner}`;
}
