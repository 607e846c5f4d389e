import { createConnection } from "node:net";
import { keyIdOf } from "../../shared/api-key.ts";
import { RepoconfError } from "../../shared/errors.ts";
import { isJsonObject } from "../../shared/json.ts";
import type { OperationArguments, OperationName, OperationResults, Reply } from "../../shared/protocol.ts";
import { describeCause } from "../files/describe-cause.ts";
import { readHomeFileNow } from "../files/foreign-file.ts";
import { type Endpoint, readEndpoint } from "../home/endpoint-file.ts";
import type { Home } from "../home/home.ts";
import { isOlder } from "../version.ts";
import { findKey, type LocateOptions } from "./find-key.ts";
import { ownSocket } from "./own-socket.ts";

export interface AskOptions extends Omit<LocateOptions, "home"> {
  /** Milliseconds to wait for the reply; a minute if left out, as a daemon that reads a large home for the first time tells no progress. */
  readonly timeout?: number;
  /** Nothing is sent to a daemon with an older version, which may understand the arguments in another way. */
  readonly atLeast?: string;
}

/** More than the longest reply: the text of a file, with each of its characters escaped. */
const mostBytes = 64 * 1024 * 1024;

/**
 * Sends one operation to the home's running daemon, as a one-shot request, and resolves with its reply, whatever its errors are. It is sent
 * once, and never again. Throws RepoconfError 1200 if it was not sent, so that another way may be tried, 1201 if it was sent and its outcome
 * is not known, 1100 if there is no key.
 */
export async function ask<Name extends OperationName>(
  home: Home,
  name: Name,
  args: OperationArguments<Name>,
  options: AskOptions = {},
): Promise<Reply<OperationResults[Name]>> {
  const endpoint = await readEndpoint(home, readHomeFileNow);
  if (endpoint === undefined)
    throw notSent(`No daemon is running on the home ${home.folder}. Start one: repoconf daemon`);
  if (options.atLeast !== undefined && isOlder(endpoint.version, options.atLeast)) throw notSent(olderDaemon(endpoint));
  const path = ownSocket(home, endpoint);
  const key = await findKey(home, options, readHomeFileNow);
  if (keyIdOf(key) === undefined)
    throw new RepoconfError(1100, "This is not an API key: API keys begin with repoconf_.");
  const text = await exchange(path, requestText(name, key, args), name, options.timeout ?? 60_000);
  const reply = replyIn(text);
  if (reply !== undefined) return reply as Reply<OperationResults[Name]>;
  if (/^HTTP\/1\.1 40[45] /.test(text)) throw notSent(olderDaemon(endpoint));
  throw unknownOutcome(name, text === "" ? "it closed the connection" : "its answer is not complete");
}

function olderDaemon({ version }: Endpoint): string {
  return `The running daemon has version ${version}, which takes no such requests. To update it: repoconf restart`;
}

function requestText(name: string, key: string, args: object): string {
  const body = JSON.stringify(args);
  const head = [`POST /svc/${encodeURI(name)} HTTP/1.1`, "Host: localhost", "Connection: close"];
  const ofBody = ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`];
  return [...head, `Authorization: Bearer ${key}`, ...ofBody, "", body].join("\r\n");
}

/** Everything that is received until the connection ends. */
function exchange(path: string, request: string, name: string, timeout: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const parts: Buffer[] = [];
  let bytes = 0;
  let isSent = false;
  let failure: string | undefined;
  const socket = createConnection(path, () => {
    isSent = true;
    socket.write(request);
  });
  const fail = (reason: string) => {
    failure ??= reason;
    socket.destroy();
  };
  const timer = setTimeout(() => fail("it took too long"), timeout);
  socket.on("data", part => {
    parts.push(part);
    bytes += part.length;
    if (bytes > mostBytes) fail("its answer is too long");
  });
  // The daemon may refuse a request and close the connection before it has read all of it. What it said is there nevertheless.
  socket.on("error", error => {
    if (bytes === 0) failure ??= describeCause(error);
  });
  socket.on("close", () => {
    clearTimeout(timer);
    if (failure === undefined) resolve(Buffer.concat(parts).toString());
    else if (isSent) reject(unknownOutcome(name, failure));
    else reject(notSent(`The daemon cannot be reached over its Unix socket ${path}: ${failure}.`));
  });
  return promise;
}

/** Undefined unless the response is complete, and a reply. */
function replyIn(text: string): Reply | undefined {
  const end = text.indexOf("\r\n\r\n");
  const [head, body] = [text.slice(0, end), text.slice(end + 4)];
  const length = /^content-length: (\d+)$/im.exec(head)?.[1];
  if (end === -1 || Number(length) !== Buffer.byteLength(body)) return undefined;
  try {
    const value: unknown = JSON.parse(body);
    return isJsonObject(value) && "result" in value && Array.isArray(value["errors"])
      ? (value as unknown as Reply)
      : undefined;
  } catch {
    return undefined;
  }
}

function notSent(message: string): RepoconfError {
  return new RepoconfError(1200, message);
}

function unknownOutcome(name: string, reason: string): RepoconfError {
  const message = `The daemon did not answer ${name}: ${reason}. It is not known whether the operation took effect. Check before you repeat it: repoconf history`;
  return new RepoconfError(1201, message);
}
