import { connect } from "node:http2";
import { freePort } from "../helpers/free-port.ts";
import type { Machine } from "./machine.ts";

type Done = (error: unknown, pairs: readonly (readonly [key: string, value: string])[]) => void;

export type Etcd = Awaited<ReturnType<typeof startEtcd>>;

export const etcdCommand = "etcd";

/**
 * Starts an etcd of so many members with its default settings, so its writes are durable. Talks gRPC over one HTTP/2 connection like
 * etcd's own clients; the JSON gateway would make etcd look slower than it is.
 */
export async function startEtcd(machine: Machine, members = 1) {
  const places: { readonly name: string; readonly url: string; readonly peerUrl: string }[] = [];
  for (let index = 0; index < members; index += 1) {
    const [port, peerPort] = [await freePort(), await freePort()];
    places.push({ name: `m${index}`, url: `http://127.0.0.1:${port}`, peerUrl: `http://127.0.0.1:${peerPort}` });
  }
  const startMember = async ({ name, url, peerUrl }: (typeof places)[number]) =>
    machine.start(
      etcdCommand,
      [
        ...[
          "--data-dir",
          await machine.newFolder("etcd"),
          "--logger",
          "zap",
          "--log-outputs",
          "stdout",
          "--name",
          name,
        ],
        ...["--listen-client-urls", url, "--advertise-client-urls", url],
        ...["--listen-peer-urls", peerUrl, "--initial-advertise-peer-urls", peerUrl],
        ...["--initial-cluster", places.map(place => `${place.name}=${place.peerUrl}`).join(",")],
      ],
      /serving.*client/,
    );
  const started = await Promise.all(places.map(startMember));
  const session = connect(places[0]?.url ?? "");
  const last = connect(places.at(-1)?.url ?? "");
  const call = (method: string, message: Buffer, done: Done) => {
    const request = session.request({
      ":method": "POST",
      ":path": `/etcdserverpb.KV/${method}`,
      ...grpcHeaders,
    });
    const chunks: Buffer[] = [];
    let status: unknown;
    request.on("trailers", trailers => {
      status = trailers["grpc-status"];
    });
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", error => done(error, []));
    request.on("end", () => {
      if (status === "0") done(undefined, pairsOf(Buffer.concat(chunks).subarray(5)));
      else done(new Error(`etcd answered ${method} with gRPC status ${String(status)}`), []);
    });
    request.end(framed(message));
  };
  return {
    put: (key: string, value: string, done: Done) => call("Put", Buffer.concat([field(1, key), field(2, value)]), done),
    /** Calls back at each change of a key, as the last of the members tells it. */
    watch: async (key: string, onEvent: () => void): Promise<void> => {
      const request = last.request({ ":method": "POST", ":path": "/etcdserverpb.Watch/Watch", ...grpcHeaders });
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      let received = Buffer.alloc(0);
      request.on("data", (chunk: Buffer) => {
        received = Buffer.concat([received, chunk]);
        for (;;) {
          const length = received.length < 5 ? Number.POSITIVE_INFINITY : 5 + received.readUInt32BE(1);
          if (received.length < length) return;
          // The first message says that the watch has begun. Field 11 has the events.
          resolve();
          if (!fieldsOf(received.subarray(5, length), 11).next().done) onEvent();
          received = received.subarray(length);
        }
      });
      request.on("error", reject);
      request.write(framed(field(1, field(1, key))));
      await promise;
    },
    /** Reads all keys with this prefix. */
    range: (prefix: string, done: Done) => {
      const last = prefix.length - 1;
      const end = prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
      call("Range", Buffer.concat([field(1, prefix), field(2, end)]), done);
    },
    [Symbol.asyncDispose]: async () => {
      session.destroy();
      last.destroy();
      await Promise.all(started.map(member => member.stop()));
    },
  };
}

const grpcHeaders = { "content-type": "application/grpc", te: "trailers" };

/** A message with its length before it. */
function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Encodes a string, or a message, as a field of a protobuf message. */
function field(number: number, content: string | Buffer): Buffer {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  const length: number[] = [];
  for (let left = bytes.length; ; left >>>= 7) {
    length.push(left > 0x7f ? (left & 0x7f) | 0x80 : left);
    if (left <= 0x7f) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
}

/** The key-value pairs of a RangeResponse: its repeated field 2, in which field 1 is the key and field 5 the value. */
function pairsOf(message: Buffer): [string, string][] {
  return [...fieldsOf(message, 2)].map(pair => {
    const text = (number: number) => fieldsOf(pair, number).next().value?.toString() ?? "";
    return [text(1), text(5)];
  });
}

/** The length-delimited fields with this number. */
function* fieldsOf(message: Buffer, wanted: number): Generator<Buffer, undefined> {
  let at = 0;
  const varint = (): number => {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = message[at] ?? 0;
      at += 1;
      value += (byte & 0x7f) * factor;
      factor *= 128;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    if ((tag & 7) === 2) {
      const length = varint();
      if (tag >>> 3 === wanted) yield message.subarray(at, at + length);
      at += length;
    } else varint();
  }
}
