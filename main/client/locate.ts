import { randomBytes, timingSafeEqual } from "node:crypto";
import { lstat } from "node:fs/promises";
import { Agent, get } from "node:http";
import { connect, type Socket } from "node:net";
import type { Address } from "../../shared/client/address.ts";
import { RepoconfError } from "../../shared/errors.ts";
import { protocolVersion } from "../../shared/protocol.ts";
import { keyCredentials, sign } from "../home/credentials.ts";
import { type Endpoint, readEndpoint } from "../home/endpoint-file.ts";
import { type Home, homeAt, homeFolder } from "../home/home.ts";
import { identityProof } from "../home/identity.ts";
import { findKey, type LocateOptions } from "./find-key.ts";

const identityTimeout = 2_000;

/**
 * The address of the home's daemon (from daemon.json) and the key. Does not check the daemon's identity; it proves that when the
 * client connects. Throws RepoconfError 1200 if no daemon is running, 1100 if there is no key.
 */
export async function locateDaemon(options: LocateOptions): Promise<Address & { readonly endpoint: Endpoint }> {
  const home = homeAt(homeFolder(options.home));
  const endpoint = await readEndpoint(home);
  if (endpoint === undefined || !isLoopback(endpoint.url)) {
    throw new RepoconfError(1200, `No daemon is running on the home ${home.folder}. Start one: repoconf daemon`);
  }
  if (endpoint.protocol !== protocolVersion) {
    const message = `The daemon speaks protocol ${endpoint.protocol}, but this client speaks protocol ${protocolVersion}. Run: repoconf restart`;
    throw new RepoconfError(1200, message, { details: { protocol: endpoint.protocol } });
  }
  const socket = await usableSocket(endpoint);
  return {
    ...(socket === undefined ? { url: endpoint.url } : { url: socketUrl, agent: new SocketAgent(socket) }),
    credentials: keyCredentials(await findKey(home, options)),
    signAsDaemon: text => sign(endpoint.instanceSecret, text),
    endpoint,
  };
}

/** The endpoint of the home's daemon if it is running and proves its identity; otherwise undefined. */
export async function findDaemon(home: Home): Promise<Endpoint | undefined> {
  const endpoint = await readEndpoint(home);
  if (endpoint === undefined || !isLoopback(endpoint.url)) return undefined;
  const nonce = randomBytes(32).toString("hex");
  const expected = identityProof(endpoint, nonce);
  const socket = await usableSocket(endpoint);
  const answer = await fetchText(
    `${socket === undefined ? endpoint.url : socketUrl}/identity?nonce=${nonce}`,
    socket === undefined ? false : new SocketAgent(socket),
  );
  if (expected === undefined || answer === undefined) return undefined;
  const [one, other] = [Buffer.from(expected), Buffer.from(answer.trim())];
  return one.length === other.length && timingSafeEqual(one, other) ? endpoint : undefined;
}

function isLoopback(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed?.protocol === "http:" && parsed.hostname === "127.0.0.1";
}

/** The URL of requests over the Unix socket. The name does not matter there, but it is signed, so all clients use the same. */
const socketUrl = "http://localhost";

/** Connects to a Unix socket, whatever the URL says. */
class SocketAgent extends Agent {
  readonly #path: string;

  constructor(path: string) {
    super();
    this.#path = path;
  }

  override createConnection(): Socket {
    return connect(this.#path);
  }
}

/** The path of the daemon's Unix socket; undefined if it has none, or somebody removed it. */
async function usableSocket({ socket }: Endpoint): Promise<string | undefined> {
  if (socket === undefined) return undefined;
  const stats = await lstat(socket).catch(() => undefined);
  return stats?.isSocket() ? socket : undefined;
}

/** The body of a 200 response of at most 1,000 characters; undefined if there is none in time. */
function fetchText(url: string, agent: Agent | false): Promise<string | undefined> {
  return new Promise(resolve => {
    const signal = AbortSignal.timeout(identityTimeout);
    const request = get(url, { signal, agent }, response => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > 1_000) request.destroy();
      });
      response.on("close", () => resolve(undefined));
      response.on("end", () => resolve(response.statusCode === 200 ? text : undefined));
      response.on("error", () => resolve(undefined));
    });
    request.on("error", () => resolve(undefined));
  });
}
