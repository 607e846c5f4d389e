import { type RepoconfClient, RequestError } from "../../shared/client/client.ts";
import type { Config } from "../../shared/config.ts";
import type { OperationArguments } from "../../shared/protocol.ts";
import { withSuggestion } from "./fields.ts";

/** Values, and the revision that has them: who changes something because of them can ask that nothing came between. */
export interface ReadConfig {
  readonly config: Config;
  readonly revision: number;
}

/** Throws RequestError, or CommandError with the field that may have been meant. */
export async function readConfig(client: RepoconfClient, args: OperationArguments<"config/list">): Promise<ReadConfig> {
  const reply = await client.request("config/list", args);
  const [first] = reply.errors;
  if (first !== undefined) throw await withSuggestion(client, new RequestError(first, reply));
  return { config: reply.result, revision: reply.revision ?? 0 };
}
