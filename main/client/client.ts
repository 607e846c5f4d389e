/** `repoconf/client` under Node: the typed client of shared/client/, which finds the daemon by its home. */
import { type ClientOptions, RepoconfClient } from "../../shared/client/client.ts";
import type { LocateOptions } from "./find-key.ts";
import { locateDaemon } from "./locate.ts";
import { problemOfNode } from "./needed-node.ts";

export { type ChangeOptions, RepoconfClient, RequestError, type RestoreOptions } from "../../shared/client/client.ts";
export type { ConfigScopes, FieldPath, FieldValue, FieldValues } from "../../shared/client/fields.ts";
export type { WatchMessage, WatchOptions } from "../../shared/client/watch.ts";
export { type ErrorCode, RepoconfError } from "../../shared/errors.ts";
export type * from "../../shared/protocol.ts";
export type { LocateOptions } from "./find-key.ts";

export interface ConnectOptions extends LocateOptions, Partial<Pick<ClientOptions, "timeout" | "onIndexing">> {}

/**
 * Connects to the home's running daemon. Throws RepoconfError 1200 if there is none, 1100 if the key is invalid; Error if this Node is too
 * old.
 */
export async function connect(options: ConnectOptions = {}): Promise<RepoconfClient> {
  const problem = problemOfNode();
  if (problem !== undefined) throw new Error(problem);
  const { timeout, onIndexing, ...where } = options;
  const client = new RepoconfClient({
    locate: () => locateDaemon(where),
    ...(timeout !== undefined && { timeout }),
    ...(onIndexing !== undefined && { onIndexing }),
  });
  await client.connect();
  return client;
}
