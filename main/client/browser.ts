/** `repoconf/client` in a browser: the same client, but the caller passes the daemon's address, because a page cannot read the home. */
import { RepoconfClient } from "../../shared/client/client.ts";
import { webKeyCredentials } from "../../shared/client/web-credentials.ts";

export { type ChangeOptions, RepoconfClient, RequestError, type RestoreOptions } from "../../shared/client/client.ts";
export type { ConfigScopes, FieldPath, FieldValue, FieldValues } from "../../shared/client/fields.ts";
export type { WatchMessage, WatchOptions } from "../../shared/client/watch.ts";
export { type ErrorCode, RepoconfError } from "../../shared/errors.ts";
export type * from "../../shared/protocol.ts";

export interface ConnectOptions {
  /** The daemon's URL; the page's origin must be the daemon's own or one that the daemon's settings allow. */
  readonly url: string;
  readonly apiKey: string;
  /** Milliseconds to wait for a connection or a reply; 10,000 if left out. */
  readonly timeout?: number;
}

/**
 * Connects to the daemon at the URL. Both sides prove that they know the key, which is never sent. Throws RepoconfError 1200 if no
 * daemon that knows the key answers there, 1100 if the key is invalid.
 */
export async function connect({ url, apiKey, timeout }: ConnectOptions): Promise<RepoconfClient> {
  const credentials = await webKeyCredentials(apiKey);
  const client = new RepoconfClient({
    locate: async () => ({ url: new URL(url).origin, credentials }),
    ...(timeout !== undefined && { timeout }),
  });
  await client.connect();
  return client;
}
