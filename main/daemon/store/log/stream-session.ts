import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
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
import {
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  errors,
  type NatsConnection,
} from "@nats-io/transport-node";
import type { StreamAddress } from "./stream-address.ts";

/** A message of the stream. */
export interface StreamMessage {
  readonly sequence: number;
  /** The id that its publisher gave it. */
  readonly id: string;
  readonly data: Uint8Array;
}

/** What became of a message: in the stream; another one is in its place; or, for now, nobody knows. */
export type Published = "stored" | "conflict" | "unknown";

/** Milliseconds for a connection, or for an answer of the server, after which it is given up. */
const answerTime = 3_000;
/**
 * Milliseconds for what is asked when a connection is made again: there is no answer while another leader is being elected, and who asks again
 * soon has one sooner.
 */
const firstAnswerTime = 1_000;
/** Milliseconds between signs of life, from the server as a whole and from what it sends messages with. */
const pingInterval = 2_000;
const heartbeat = 1_000;
/** Milliseconds since a leader heard of a replica, each second or so, from which on it has lost it. */
const longestSilence = 5_000;
/** How many messages the server sends ahead. */
const sentAhead = 500;

/**
 * One connection to a server, and the stream there. It is used until it ends, and another is made then: nothing that was about to be
 * sent is left to it. Only this file knows NATS.
 */
export class StreamSession {
  /** Which log the stream is. */
  readonly id: string;
  /** Of the messages that were there when the connection was made: the sequences of the first and the last. */
  readonly first: number;
  readonly last: number;
  /** Of all of them. */
  readonly bytes: number;
  /** What a message may have, at most. */
  readonly mostBytes: number;
  /** Settled when the connection has ended. */
  readonly ended: Promise<void>;
  readonly #name: string;
  readonly #connection: NatsConnection;
  readonly #client: JetStreamClient;
  readonly #manager: JetStreamManager;

  private constructor(name: string, connection: NatsConnection, manager: JetStreamManager, info: StreamInfo) {
    this.#name = name;
    this.#connection = connection;
    this.#manager = manager;
    this.#client = jetstream(connection, { timeout: answerTime });
    this.id = createHash("sha256").update(`${info.config.name} ${info.created}`).digest("hex").slice(0, 12);
    this.first = info.state.first_seq;
    this.last = info.state.last_seq;
    this.bytes = info.state.bytes;
    this.mostBytes = connection.info?.max_payload ?? 1024 * 1024;
    this.ended = connection.closed().then(() => {});
  }

  /** `mayMake`: a stream that is not there is made. Throws an error that says why it cannot be reached. */
  static async open(address: StreamAddress, mayMake: boolean): Promise<StreamSession> {
    const connection = await connect(await connectionOptions(address));
    try {
      const manager = await jetstreamManager(connection, { timeout: mayMake ? answerTime : firstAnswerTime });
      const info = await manager.streams.info(address.name).catch((error: unknown) => {
        const isMissing = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;
        if (!isMissing || !mayMake) throw error;
        return manager.streams.add({
          name: address.name,
          subjects: [subjectOf(address.name)],
          storage: "file",
          num_replicas: address.replicas,
          discard: "new",
        });
      });
      return new StreamSession(address.name, connection, manager, info);
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** The message at a sequence; undefined if there is none any more. Throws if the server does not answer. */
  async messageAt(sequence: number): Promise<StreamMessage | undefined> {
    const message = await this.#manager.streams.getMessage(this.#name, { seq: sequence });
    return message === null ? undefined : { sequence, id: message.header.get(idHeader), data: message.data };
  }

  /**
   * Hands on every message behind a sequence, those to come too, one after the other, until the connection ends. Throws if the
   * server refuses.
   */
  async follow(after: number, onMessage: (message: StreamMessage) => Promise<void>): Promise<void> {
    const consumer = await this.#client.consumers.get(this.#name, {
      deliver_policy: "by_start_sequence",
      opt_start_seq: after + 1,
    });
    const messages = await consumer.consume({
      max_messages: sentAhead,
      expires: 5 * heartbeat,
      idle_heartbeat: heartbeat,
    });
    void this.ended.then(() => messages.stop());
    void this.#endWhenSilent(messages);
    for await (const message of messages)
      await onMessage({ sequence: message.seq, id: message.headers?.get(idHeader) ?? "", data: message.data });
  }

  /** A server that answers may have lost the others of its cluster, or the stream: another connection shows what is there. */
  async #endWhenSilent(messages: ConsumerMessages): Promise<void> {
    for await (const { type } of messages.status()) if (type === "heartbeats_missed") await this.close();
  }

  /** Appends a message right behind the one at `after`. Throws if the server refuses it for good; then it is not there. */
  async publish(id: string, data: Uint8Array, after: number): Promise<Published> {
    const publishing = this.#client
      .publish(subjectOf(this.#name), data, { msgID: id, expect: { lastSequence: after }, timeout: answerTime })
      .then((): Published => "stored");
    try {
      return await Promise.race([publishing, this.ended.then((): Published => "unknown")]);
    } catch (error) {
      if (!(error instanceof JetStreamApiError)) {
        if (error instanceof errors.InvalidArgumentError) throw error;
        return "unknown";
      }
      if (error.code === JetStreamApiCodes.StreamWrongLastSequence) return "conflict";
      // Without a leader, or while one is being chosen, nothing is refused for good; but where there is no room it is.
      if (error.status === 503 && error.code !== storeFailed) return "unknown";
      throw error;
    }
  }

  /**
   * Throws unless a leader of the stream answers that most of its replicas follow: a server that was cut off from the others goes on to send
   * what it has, and may take itself for the leader.
   */
  async askLeader(): Promise<void> {
    const { cluster } = await this.#manager.streams.info(this.#name);
    const replicas = cluster?.replicas ?? [];
    const following = replicas.filter(({ active }) => active < longestSilence * 1_000_000);
    if (2 * (1 + following.length) <= 1 + replicas.length) throw new Error("the server was cut off from its cluster");
  }

  /** All messages before this sequence go; how many bytes are left. Throws if the server refuses, or does not answer. */
  async purge(sequence: number): Promise<number> {
    await this.#manager.streams.purge(this.#name, { seq: sequence });
    return (await this.#manager.streams.info(this.#name)).state.bytes;
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}

/** JSStreamStoreFailed: such as "maximum bytes exceeded". */
const storeFailed = 10_077;
const idHeader = "Nats-Msg-Id";

function subjectOf(name: string): string {
  return `repoconf.${name}`;
}

async function connectionOptions(address: StreamAddress): Promise<ConnectionOptions> {
  const { servers, credentials, isEncrypted, ca, certificate, key } = address;
  const tls = {
    ...(ca !== undefined && { caFile: ca }),
    ...(certificate !== undefined && { certFile: certificate }),
    ...(key !== undefined && { keyFile: key }),
  };
  return {
    servers: [...servers],
    name: "repoconf",
    reconnect: false,
    timeout: answerTime,
    pingInterval,
    maxPingOut: 2,
    ...(credentials !== undefined && { authenticator: credsAuthenticator(await readFile(credentials)) }),
    ...(isEncrypted && { tls }),
  };
}
