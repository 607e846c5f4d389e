import { HomeError } from "../../../home/prepare-home.ts";

/** The address of a shared log, and how to connect to it. */
export interface StreamAddress {
  /** `host:port` of each server. */
  readonly servers: readonly string[];
  readonly isEncrypted: boolean;
  /** The name of the stream. */
  readonly name: string;
  /** The number of servers that are to store each message; undefined if nobody asked for one. */
  readonly replicas?: number;
  /** Paths of the credentials file and of the files for TLS. */
  readonly credentials?: string;
  readonly ca?: string;
  readonly certificate?: string;
  readonly key?: string;
}

/** The settings of a shared log besides its address. */
export type StreamAccess = Partial<Pick<StreamAddress, "replicas" | "credentials" | "ca" | "certificate" | "key">>;

const form = /^(?<protocol>nats|tls):\/\/(?<servers>[^/?#@\s]+)\/(?<name>[A-Za-z0-9_-]{1,64})$/;
const defaultPort = 4222;

/** Throws a HomeError that explains the form of an address. */
export function parseStreamAddress(text: string, access: StreamAccess = {}): StreamAddress {
  const { protocol, servers = "", name } = form.exec(text)?.groups ?? {};
  if (name === undefined) {
    const message = `The address of a shared log is nats://HOST:PORT/NAME, or tls:// for TLS; separate several servers with commas (HOST:PORT,HOST:PORT). NAME consists of letters, digits, - and _. Put a credentials file into settings.json ("log"), not a password into the address.`;
    throw new HomeError(message);
  }
  return {
    servers: servers.split(",").map(server => (/:\d+$/.test(server) ? server : `${server}:${defaultPort}`)),
    isEncrypted: protocol === "tls" || access.ca !== undefined || access.certificate !== undefined,
    name,
    ...access,
  };
}
