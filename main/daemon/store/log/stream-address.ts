/** Where a log that several machines share is, and how to get there. */
export interface StreamAddress {
  /** `host:port` of each server. */
  readonly servers: readonly string[];
  readonly isEncrypted: boolean;
  /** The stream's name. */
  readonly name: string;
  /** On how many servers each message is kept; counts where the stream is made. */
  readonly replicas: number;
  /** Paths of files: what to prove with who we are, and for TLS. */
  readonly credentials?: string;
  readonly ca?: string;
  readonly certificate?: string;
  readonly key?: string;
}

/** What the settings have beside the address itself. */
export type StreamAccess = Partial<Pick<StreamAddress, "replicas" | "credentials" | "ca" | "certificate" | "key">>;

const form = /^(?<protocol>nats|tls):\/\/(?<servers>[^/?#@\s]+)\/(?<name>[A-Za-z0-9_-]{1,64})$/;
const defaultPort = 4222;

/** Throws an Error that says how an address is written. */
export function parseStreamAddress(text: string, access: StreamAccess = {}): StreamAddress {
  const { protocol, servers = "", name } = form.exec(text)?.groups ?? {};
  const { replicas = 1, ...files } = access;
  if (name === undefined) {
    const message = `The address of a shared log is nats://HOST:PORT/NAME, or tls:// for TLS; separate several servers with commas (HOST:PORT,HOST:PORT). NAME consists of letters, digits, - and _. Put a credentials file into settings.json ("log"), not a password into the address.`;
    throw new Error(message);
  }
  return {
    servers: servers.split(",").map(server => (/:\d+$/.test(server) ? server : `${server}:${defaultPort}`)),
    isEncrypted: protocol === "tls" || files.ca !== undefined || files.certificate !== undefined,
    name,
    replicas,
    ...files,
  };
}
