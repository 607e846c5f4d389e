import { connect, type Socket } from "node:net";
import { freePort } from "../helpers/free-port.ts";
import type { Machine, Started } from "./machine.ts";

export const redisCommand = "redis-server";

/** Starts a Redis that keeps everything in memory only, because its durability is not compared. */
export async function startRedis(machine: Machine) {
  const port = await freePort();
  const settings = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--logfile", ""];
  const started: Started = await machine.start(redisCommand, settings, /Ready to accept connections/);
  const socket = connect(port, "127.0.0.1");
  socket.setNoDelay(true);
  const waiting: ((error: unknown, reply: unknown) => void)[] = [];
  readReplies(socket, (error, reply) => waiting.shift()?.(error, reply));
  return {
    /** Redis answers the requests of a connection in order, so any number of them may be pending. */
    request: (command: readonly string[], done: (error: unknown, reply: unknown) => void) => {
      waiting.push(done);
      socket.write(
        `*${command.length}\r\n${command.map(part => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join("")}`,
      );
    },
    [Symbol.asyncDispose]: async () => {
      socket.destroy();
      await started.stop();
    },
  };
}

/** Parses the part of RESP 2 that HSET and HGETALL use: integers, errors, strings and flat arrays of strings. */
function readReplies(socket: Socket, onReply: (error: unknown, reply: unknown) => void): void {
  let text = "";
  socket.setEncoding("latin1");
  socket.on("data", (chunk: string) => {
    text += chunk;
    let at = 0;
    for (;;) {
      const found = parseReply(text, at);
      if (found === undefined) break;
      at = found.end;
      onReply(found.error, found.value);
    }
    text = text.slice(at);
  });
}

interface Parsed {
  readonly value: unknown;
  readonly error?: unknown;
  readonly end: number;
}

function parseReply(text: string, at: number): Parsed | undefined {
  const line = text.indexOf("\r\n", at);
  if (line === -1) return undefined;
  const rest = text.slice(at + 1, line);
  switch (text[at]) {
    case ":":
      return { value: Number(rest), end: line + 2 };
    case "+":
      return { value: rest, end: line + 2 };
    case "-":
      return { value: undefined, error: new Error(`Redis: ${rest}`), end: line + 2 };
    case "$": {
      const end = line + 2 + Number(rest);
      return text.length < end + 2 ? undefined : { value: text.slice(line + 2, end), end: end + 2 };
    }
    case "*": {
      const value: unknown[] = [];
      let end = line + 2;
      for (let count = Number(rest); count > 0; count -= 1) {
        const one = parseReply(text, end);
        if (one === undefined) return undefined;
        value.push(one.value);
        end = one.end;
      }
      return { value, end };
    }
    default:
      return { value: undefined, error: new Error(`Redis answered ${JSON.stringify(rest)}`), end: line + 2 };
  }
}
