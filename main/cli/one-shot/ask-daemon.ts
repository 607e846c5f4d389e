import packageJson from "../../../package.json" with { type: "json" };
import { RepoconfError } from "../../../shared/errors.ts";
import type { OperationArguments, OperationResults, Reply } from "../../../shared/protocol.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import { ask } from "../../client/ask.ts";
import { homeAt, homeFolder } from "../../home/home.ts";
import type { SessionOptions } from "../command-options.ts";

/** The operations that take a folder in a repository as `path`. */
type ByPath = "config/list" | "config/set";

/**
 * Asks the running daemon about the repository with the id `repo`, or else about the one that contains the current folder. Undefined if
 * nothing was done and the long way has more to say or to do: no daemon runs or it is older, it has no Unix socket, there is no such
 * repository, the key is not accepted, or the arguments are not. Throws RepoconfError 1201 if it is not known what was done.
 */
export async function askDaemon<Name extends ByPath>(
  name: Name,
  args: OperationArguments<Name>,
  repo: string | undefined,
  { home, keyFile }: SessionOptions,
): Promise<Reply<OperationResults[Name]> | undefined> {
  // Of other keys, the daemon does not let git's folders on this disk decide what their folder is.
  const isOwner = !keyFile && !process.env["REPOCONF_API_KEY"];
  if (repo === undefined && !isOwner) return undefined;
  try {
    const where = repo === undefined ? { path: process.cwd() } : { repo };
    const options = { atLeast: packageJson.version, ...(keyFile !== undefined && { keyFile }) };
    const reply = await ask(homeAt(homeFolder(home)), name, { ...args, ...where }, options);
    const isEmpty = Object.keys(reply.result).length === 0;
    return isEmpty && reply.errors.some(saysNothingWasDone) ? undefined : reply;
  } catch (error) {
    if (error instanceof RepoconfError && error.code === 1201) throw error;
    return undefined;
  }
}

/** Whether an error is about the request, or about a repository. Without a list, the whole request was for one. */
function saysNothingWasDone({ code, field }: Reply["errors"][number]): boolean {
  return [1006, 1100, 1101, 1102, 1109, 1113].includes(code) || (code === 1007 && field === undefined);
}

/** The schemas that were asked for with the request. */
export function fieldsOf({ schemas = {} }: Reply): ReadonlyMap<string, FieldSchema> {
  return new Map(Object.entries(schemas));
}
