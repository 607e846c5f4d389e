import type { Socket as EngineSocket } from "engine.io";

/** The maximum number of bytes that are cached. */
const maxBytes = 16 * 1024 * 1024;

/**
 * The JSON text of a reply, or of its whole packet, up to the end of the packet. `end` is cached with the result, already encoded:
 * most of a large reply is neither serialized nor encoded nor copied again.
 */
export class PreparedReply {
  readonly start: string;
  readonly end: Buffer;

  constructor(start: string, end: Buffer) {
    this.start = start;
    this.end = end;
  }

  get byteLength(): number {
    return Buffer.byteLength(this.start) + this.end.length;
  }

  /** The reply alone, without the end of the packet. */
  get body(): Buffer {
    return Buffer.concat([Buffer.from(this.start), this.end.subarray(0, -1)]);
  }

  /** Engine.IO calls it where there is no frame, as with polling. */
  toString(): string {
    return this.start + this.end.toString();
  }
}

/**
 * Caches the JSON texts of results that are returned repeatedly as the same object, so that an unchanged list is not serialized
 * each time. A text is dropped with its object, and all of them are dropped when they become too large.
 */
export class PreparedReplies {
  readonly #maxBytes: number;
  #ends = new WeakMap<object, Buffer>();
  #bytes = 0;

  constructor(max: number = maxBytes) {
    this.#maxBytes = max;
  }

  /** The reply with the members in `rest` and this result, which must never change again. */
  of(result: object, rest: object): PreparedReply {
    const others = JSON.stringify(rest).slice(0, -1);
    return new PreparedReply(`${others}${others === "{" ? "" : ","}"result":`, this.#endOf(result));
  }

  #endOf(result: object): Buffer {
    let end = this.#ends.get(result);
    if (end === undefined) {
      end = Buffer.from(`${JSON.stringify(result)}}]`);
      this.#bytes += end.length;
      if (this.#bytes > this.#maxBytes) {
        this.#ends = new WeakMap();
        this.#bytes = end.length;
      }
      this.#ends.set(result, end);
    }
    return end;
  }
}

/** Sends prepared replies over a WebSocket as frames that Engine.IO need not encode, as Socket.IO does for broadcasts. */
export function sendPreparedFrames(connection: EngineSocket): void {
  connection.on("packetCreate", ({ data, options }: { data?: unknown; options: { wsPreEncodedFrame?: Buffer[] } }) => {
    if (data instanceof PreparedReply && connection.transport.name === "websocket")
      options.wsPreEncodedFrame = [frameStart(data), data.end];
  });
}

/** The header of an unmasked text frame (RFC 6455, 5.2), Engine.IO's "4" for a message, and the start of the packet. */
function frameStart({ start, end }: PreparedReply): Buffer {
  const startBytes = 1 + Buffer.byteLength(start);
  const payload = startBytes + end.length;
  const headerBytes = payload < 126 ? 2 : payload < 65536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(headerBytes + startBytes);
  frame[0] = 0x81;
  if (headerBytes === 2) frame[1] = payload;
  else if (headerBytes === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(payload, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(payload), 2);
  }
  frame.write(`4${start}`, headerBytes);
  return frame;
}
