import * as parser from "socket.io-parser";

/** The maximum number of characters that are cached. */
const mostCharacters = 16 * 1024 * 1024;

/** A reply whose text is already known. */
export class PreparedReply {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Caches the JSON texts of results that are returned repeatedly as the same object, so that an unchanged list is not serialized
 * each time. A text is dropped with its object, and all of them are dropped when they become too large.
 */
export class PreparedReplies {
  readonly #mostCharacters: number;
  #texts = new WeakMap<object, string>();
  #characters = 0;

  constructor(most: number = mostCharacters) {
    this.#mostCharacters = most;
  }

  /** The reply with this result, which must never change again, and with the members in `rest`. */
  of(result: object, rest: object): PreparedReply {
    const others = JSON.stringify(rest).slice(1);
    return new PreparedReply(`{"result":${this.#textOf(result)}${others === "}" ? "" : ","}${others}`);
  }

  #textOf(result: object): string {
    let text = this.#texts.get(result);
    if (text === undefined) {
      text = JSON.stringify(result);
      this.#characters += text.length;
      if (this.#characters > this.#mostCharacters) {
        this.#texts = new WeakMap();
        this.#characters = text.length;
      }
      this.#texts.set(result, text);
    }
    return text;
  }
}

/** Socket.IO's encoder, except that it puts the text of a prepared reply into the packet unchanged. */
class ReplyEncoder extends parser.Encoder {
  override encode(packet: parser.Packet): ReturnType<parser.Encoder["encode"]> {
    const data: unknown = packet.data;
    const [reply] = Array.isArray(data) ? data : [];
    if (packet.type !== parser.PacketType.ACK || !(reply instanceof PreparedReply)) return super.encode(packet);
    const namespace = packet.nsp === "/" ? "" : `${packet.nsp},`;
    return [`${packet.type}${namespace}${packet.id}[${reply.text}]`];
  }
}

/** For Socket.IO's option `parser`. */
export const replyParser = { ...parser, Encoder: ReplyEncoder };
