import { type RepoconfClient, RequestError } from "../../../shared/client/client.ts";
import type { Config } from "../../../shared/config.ts";
import type { OperationArguments } from "../../../shared/protocol.ts";
import { withSuggestion } from "./fields.ts";

/** Values and their revision, so that a caller can refuse to overwrite changes made in between. */
export interface ReadConfig {
  readonly config: Config;
  readonly revision: number;
}

/** Reads values. Throws RequestError, or CommandError with a suggestion for an unknown field. */
export async function readConfig(client: RepoconfClient, args: OperationArguments<"config/list">): Promise<ReadConfig> {
  const reply = await client.request("config/list", args);
  const [first] = reply.errors;
  if (first !== undefined) throw await withSuggestion(client, new RequestError(first, reply));
  return { config: reply.result, revision: reply.revision ?? 0 };
}
