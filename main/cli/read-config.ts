import { type RepoconfClient, RequestError } from "../../shared/client/client.ts";
import type { Config } from "../../shared/config.ts";
import type { OperationArguments } from "../../shared/protocol.ts";
import { withSuggestion } from "./fields.ts";

/** Values and their revision, so that a caller can make a change only if nothing has changed in between. */
export interface ReadConfig {
  readonly config: Config;
  readonly revision: number;
}

/** Throws RequestError, or CommandError with a suggestion. */
export async function readConfig(client: RepoconfClient, args: OperationArguments<"config/list">): Promise<ReadConfig> {
  const reply = await client.request("config/list", args);
  const [first] = reply.errors;
  if (first !== undefined) throw await withSuggestion(client, new RequestError(first, reply));
  return { config: reply.result, revision: reply.revision ?? 0 };
}
