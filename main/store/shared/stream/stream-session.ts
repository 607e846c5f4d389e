import { createHash } from "node:crypto";
import {
  type ConsumerMessages,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  type StreamInfo,
} from "@nats-io/jetstream";
import { type ConnectionOptions, credsAuthenticator, errors, type NatsConnection } from "@nats-io/transport-node";
import { readHomeFile } from "../../../files/foreign-file.ts";
import { connectBounded, UnboundedServerError } from "./bounded-transport.ts";
import { FullLogError } from "./full-log-error.ts";
import type { StreamAddress } from "./stream-address.ts";

/** A message of the stream. */
export interface StreamMessage {
  readonly sequence: number;
  /** The message id that its publisher chose. */
  readonly id: string;
  readonly data: Uint8Array;
}

/** What the stream's leader says about it. */
export interface StreamStatus {
  /** The id of the log: it changes if the stream is deleted and created again. */
  readonly id: string;
  /** The sequences of the first and the last message. */
  readonly first: number;
  readonly last: number;
  /** The size of all messages, and its limit; -1 if there is none. */
  readonly bytes: number;
  readonly maxBytes: number;
  /** The number of servers that are to store each message, how many are advised there, and the names of those that the leader has lost. */
  readonly replicas: number;
  readonly advisedReplicas: number;
  readonly missing: readonly string[];
  /**
   * Whether a majority of them follows the leader. A server that was cut off from its cluster still delivers the messages that it has,
   * and may believe that it is the leader.
   */
  readonly isLed: boolean;
  readonly isCluster: boolean;
}

/** The outcome of publishing: the message is stored; another one is at its position; or the outcome is not known yet. */
export type Published = "stored" | "conflict" | "unknown";

/** Milliseconds until connecting, or a request, times out. */
const requestTimeout = 3_000;
/** The same for questions about the stream: they get no reply during an election, so a short timeout finds the new leader sooner. */
const questionTimeout = 1_000;
/** Milliseconds between pings of the connection, and between heartbeats of the consumer that delivers messages. */
const pingInterval = 2_000;
const heartbeat = 1_000;
/**
 * Milliseconds after which the server drops the consumer of a connection that has ended. After the default, five minutes, many reconnections
 * had reached the limit of 1,000 consumers that nats-server 2.15 sets, and no daemon could follow the stream.
 */
const abandonedAfter = 30_000;
/** Milliseconds without contact after which a leader has lost a replica. Contact is about once a second. */
const maxReplicaSilence = 2_500;
/** The maximum of messages that the server delivers ahead. */
const maxPrefetched = 500;

/**
 * One connection to a server, and its stream. It is never reconnected: when it ends, a new session is opened, so that no buffered request
 * of the client library is sent late. Only this file knows NATS.
 */
export class StreamSession {
  /** As of the last time that it was asked for. */
  status: StreamStatus;
  /** The maximum of bytes in a message. */
  readonly maxPayload: number;
  /** Resolves when the connection has ended. */
  readonly ended: Promise<void>;
  readonly #name: string;
  readonly #connection: NatsConnection;
  readonly #client: JetStreamClient;
  readonly #manager: JetStreamManager;
  /** The same, with a shorter timeout. */
  readonly #questions: JetStreamManager;

  private constructor(
    name: string,
    connection: NatsConnection,
    managers: readonly [JetStreamManager, JetStreamManager],
    info: StreamInfo,
  ) {
    this.#name = name;
    this.#connection = connection;
    [this.#manager, this.#questions] = managers;
    this.#client = jetstream(connection, { timeout: requestTimeout });
    this.status = statusOf(info);
    this.maxPayload = connection.info?.max_payload ?? 1024 * 1024;
    this.ended = connection.closed().then(() => {});
  }

  /** Connects, and creates a missing stream with `createIfMissing`. Throws an error that says why it cannot be reached. */
  static async open(address: StreamAddress, createIfMissing: boolean): Promise<StreamSession> {
    const connection = await connectBounded(await connectionOptions(address));
    try {
      const questions = await jetstreamManager(connection, { timeout: questionTimeout });
      const manager = await jetstreamManager(connection, { timeout: requestTimeout, checkAPI: false });
      const asked = createIfMissing ? manager : questions;
      const { name, replicas } = address;
      const found = await asked.streams.info(name).catch((error: unknown) => {
        const isMissing = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;
        if (!isMissing || !createIfMissing) throw error;
        const subjects = [subjectOf(name)];
        const wanted = replicas ?? replicasIn(connection.info?.cluster);
        return manager.streams.add({ name, subjects, storage: "file", num_replicas: wanted, discard: "new" });
      });
      // A single server would accept more than one, and not find the stream any more after its next start.
      const isCluster = found.cluster?.name !== undefined;
      const isRaised = isCluster && replicas !== undefined && replicas > found.config.num_replicas;
      // If the cluster refuses, the stream goes on as it is, with a warning.
      const raising = isRaised && manager.streams.update(name, { num_replicas: replicas }).catch(() => found);
      const info = (await raising) || found;
      return new StreamSession(name, connection, [manager, questions], info);
    } catch (error) {
      await connection.close();
      throw (await boundError(connection)) ?? error;
    }
  }

  /** The message at a sequence; undefined if it was deleted. Throws if the server does not answer. */
  async messageAt(sequence: number): Promise<StreamMessage | undefined> {
    const message = await this.#questions.streams.getMessage(this.#name, { seq: sequence });
    return message === null ? undefined : { sequence, id: message.header.get(idHeader), data: message.data };
  }

  /**
   * Calls `onMessage` for every message after a sequence, existing and new, one at a time, until the connection ends. Throws if the
   * server refuses.
   */
  async follow(after: number, onMessage: (message: StreamMessage) => Promise<void>): Promise<void> {
    const consumer = await this.#client.consumers.get(this.#name, {
      deliver_policy: "by_start_sequence",
      opt_start_seq: after + 1,
      inactive_threshold: abandonedAfter,
    });
    const messages = await consumer.consume({
      max_messages: maxPrefetched,
      expires: 5 * heartbeat,
      idle_heartbeat: heartbeat,
    });
    void this.ended.then(() => messages.stop());
    void this.#closeOnMissedHeartbeats(messages);
    for await (const message of messages)
      await onMessage({ sequence: message.seq, id: message.headers?.get(idHeader) ?? "", data: message.data });
    const error = await boundError(this.#connection);
    if (error !== undefined) throw error;
  }

  /** A server that still answers pings may have lost its cluster or the stream; a new connection finds out. */
  async #closeOnMissedHeartbeats(messages: ConsumerMessages): Promise<void> {
    for await (const { type } of messages.status()) if (type === "heartbeats_missed") await this.close();
  }

  /**
   * Appends a message right after the one at `after`. Throws if the server refuses it for good; then it is not in the stream. Throws
   * FullLogError if there is no room for it.
   */
  async publish(id: string, data: Uint8Array, after: number): Promise<Published> {
    const publishing = this.#client
      .publish(subjectOf(this.#name), data, { msgID: id, expect: { lastSequence: after }, timeout: requestTimeout })
      .then((): Published => "stored");
    try {
      return await Promise.race([publishing, this.ended.then((): Published => "unknown")]);
    } catch (error) {
      if (!(error instanceof JetStreamApiError)) {
        if (error instanceof errors.InvalidArgumentError) throw error;
        return "unknown";
      }
      if (error.code === JetStreamApiCodes.StreamWrongLastSequence) return "conflict";
      if (fullCodes.has(error.code)) {
        const isOutcomeUnknown = error.code === serverFullCode && this.status.isCluster;
        throw new FullLogError(this.#name, error.message, isOutcomeUnknown);
      }
      // No leader, or an election, which end.
      if (error.status === 503) return "unknown";
      throw error;
    }
  }

  /** Throws if the leader of the stream does not answer in time. */
  async askStatus(): Promise<StreamStatus> {
    this.status = statusOf(await this.#questions.streams.info(this.#name));
    return this.status;
  }

  /** Deletes all messages before a sequence; returns the remaining bytes. Throws if the server refuses, or does not answer. */
  async purge(sequence: number): Promise<number> {
    await this.#manager.streams.purge(this.#name, { seq: sequence });
    return (await this.#manager.streams.info(this.#name)).state.bytes;
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}

/** Why a connection was ended that has ended; undefined unless the server sent what has no bounds. */
async function boundError(connection: NatsConnection): Promise<Error | undefined> {
  const error = connection.isClosed() ? await connection.closed() : undefined;
  return error instanceof UnboundedServerError ? error : undefined;
}

/**
 * JSInsufficientResources: no room in the server's store. In a cluster, the leader may answer so after others have stored the message: it
 * checks its own store once more when it applies what all have agreed on.
 */
const serverFullCode = 10_023;
/** Besides that: limits of the account (storage, memory), of the server (memory, storage), and of the stream, as "maximum bytes exceeded". */
const fullCodes: ReadonlySet<number> = new Set([serverFullCode, 10_002, 10_028, 10_047, 10_077]);
const idHeader = "Nats-Msg-Id";

/** On how many servers each message should be: in a cluster, any one of them may fail. */
function replicasIn(cluster: string | undefined): number {
  return cluster === undefined ? 1 : 3;
}

/** What the leader's answer says. A follower that a new leader never heard of is silent for 0 ns since nats-server 2.15. */
export function statusOf({ config, created, state, cluster }: StreamInfo): StreamStatus {
  const followers = cluster?.replicas ?? [];
  const isSilent = ({ active, current }: (typeof followers)[number]) =>
    active >= maxReplicaSilence * 1_000_000 || (active === 0 && !current);
  const silent = followers.filter(isSilent);
  return {
    id: createHash("sha256").update(`${config.name} ${created}`).digest("hex").slice(0, 12),
    first: state.first_seq,
    last: state.last_seq,
    bytes: state.bytes,
    maxBytes: config.max_bytes,
    replicas: config.num_replicas,
    advisedReplicas: replicasIn(cluster?.name),
    missing: silent.map(({ name }) => name),
    isLed: 2 * silent.length < 1 + followers.length,
    isCluster: cluster?.name !== undefined,
  };
}

function subjectOf(name: string): string {
  return `repoconf.${name}`;
}

async function connectionOptions(address: StreamAddress): Promise<ConnectionOptions> {
  const { servers, credentials, isEncrypted, ca, certificate, key } = address;
  const secret = credentials === undefined ? undefined : await readHomeFile(credentials, { followsLinks: true });
  if (secret === null) throw new Error(`${credentials} does not exist`);
  const tls = {
    ...(ca !== undefined && { caFile: ca }),
    ...(certificate !== undefined && { certFile: certificate }),
    ...(key !== undefined && { keyFile: key }),
  };
  return {
    servers: [...servers],
    name: "repoconf",
    reconnect: false,
    timeout: requestTimeout,
    pingInterval,
    maxPingOut: 2,
    ...(secret !== undefined && { authenticator: credsAuthenticator(secret.bytes) }),
    ...(isEncrypted && { tls }),
  };
}
