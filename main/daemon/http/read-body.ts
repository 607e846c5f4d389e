import type { IncomingMessage } from "node:http";
import { limitExceeded, RepoconfError } from "../../../shared/errors.ts";
import { withoutInexactNumbers } from "../../../shared/exact-number.ts";
import { limits } from "../../../shared/limits.ts";
import { describeCause } from "../../files/describe-cause.ts";
import { utf8Text } from "../../files/utf8-text.ts";
import type { Clock } from "../../time/clock.ts";
import { HttpError } from "./statuses.ts";

/** Milliseconds in which a body must arrive. */
const bodyTime = 10_000;

/** The client went away before it had sent everything. */
export class ClosedError extends Error {
  override readonly name = "ClosedError";
}

/** Refuses, by its header alone, a body that cannot be the arguments of an operation. Throws RepoconfError 1101 or 1107. */
export function checkBodyHeaders({ headers }: IncomingMessage): void {
  const { "content-type": type, "content-encoding": encoding, "content-length": length, expect } = headers;
  if (type !== undefined && !/^application\/json *(; *charset="?utf-8"? *)?$/i.test(type))
    throw malformed("The body must be JSON in UTF-8: send the header Content-Type: application/json.");
  if (encoding !== undefined && encoding !== "identity")
    throw malformed("The body must not be compressed: omit the header Content-Encoding.");
  if (expect !== undefined && !isContinue(expect)) throw malformed("The header Expect may only be 100-continue.");
  if (Number(length ?? 0) > limits.transportBytes) throw tooLong(Number(length));
}

/** Whether the client waits for a sign before it sends the body. */
export function isContinue(expect: string | undefined): boolean {
  return /^100-continue$/i.test(expect ?? "");
}

/**
 * The body of a request, which may be paused meanwhile. `onPart` gets the length of each part. Throws RepoconfError 1107 if it is too long
 * or too slow, ClosedError.
 */
export async function readBody(
  request: IncomingMessage,
  clock: Pick<Clock, "schedule">,
  onPart: (bytes: number) => void,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const parts: Buffer[] = [];
  let bytes = 0;
  request.on("data", (part: Buffer) => {
    bytes += part.length;
    if (bytes > limits.transportBytes) {
      request.pause();
      reject(tooLong(bytes));
      return;
    }
    parts.push(part);
    onPart(part.length);
  });
  request.once("end", () => resolve(Buffer.concat(parts)));
  request.once("close", () => reject(new ClosedError()));
  let cancel = () => {};
  const wait = () => {
    cancel = clock.schedule(bodyTime, () => {
      // While its key has too much in progress, it is the daemon that does not read.
      if (request.isPaused()) wait();
      else reject(new HttpError(408, `The body did not arrive within ${bodyTime / 1000} seconds.`));
    });
  };
  wait();
  return promise.finally(() => cancel());
}

/** The arguments in a body; undefined if it is empty. A number that would be rounded reads as infinite. Throws RepoconfError 1101. */
export function argumentsIn(body: Buffer): unknown {
  try {
    const text = utf8Text(body);
    return text.trim() === "" ? undefined : JSON.parse(withoutInexactNumbers(text));
  } catch (error) {
    throw malformed(`The body is not the arguments as JSON: ${describeCause(error)}.`);
  }
}

function malformed(message: string): RepoconfError {
  return new RepoconfError(1101, message);
}

function tooLong(bytes: number): RepoconfError {
  return limitExceeded("bytes in a body", bytes, limits.transportBytes);
}
