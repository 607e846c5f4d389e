import { type ConnectOptions, connect as connectClient, type RepoconfClient } from "../../main/client/client.ts";
import { patience } from "./patience.ts";

/** `connect` of the client, which does not give up on a busy machine. */
export function connect(options: ConnectOptions = {}): Promise<RepoconfClient> {
  return connectClient({ timeout: patience, ...options });
}
