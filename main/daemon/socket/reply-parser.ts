import * as parser from "socket.io-parser";
import { withoutInexactNumbers } from "../../../shared/exact-number.ts";
import { PreparedReply } from "./prepared-replies.ts";

/** Socket.IO's encoder, except that it puts the text of a prepared reply into the packet unchanged. */
class ReplyEncoder extends parser.Encoder {
  override encode(packet: parser.Packet): ReturnType<parser.Encoder["encode"]> {
    const data: unknown = packet.data;
    const [reply] = Array.isArray(data) ? data : [];
    if (packet.type !== parser.PacketType.ACK || !(reply instanceof PreparedReply)) return super.encode(packet);
    const namespace = packet.nsp === "/" ? "" : `${packet.nsp},`;
    const prepared = new PreparedReply(`${packet.type}${namespace}${packet.id}[${reply.start}`, reply.end);
    // Engine.IO only passes it on, and calls `toString` where `sendPreparedFrames` made no frame.
    return [prepared as unknown as string];
  }
}

/**
 * Socket.IO's decoder, except that a number that it would round reads as infinite, which `measureArguments` refuses: nothing after it
 * could tell that it was rounded.
 */
class ExactDecoder extends parser.Decoder {
  override add(data: unknown): void {
    // The packet's type and number come before its JSON.
    const start = typeof data === "string" ? data.search(/[[{]/) : -1;
    super.add(typeof data === "string" && start !== -1 ? withoutInexactNumbers(data, start) : data);
  }
}

/** For Socket.IO's option `parser`. */
export const replyParser = { ...parser, Encoder: ReplyEncoder, Decoder: ExactDecoder };
