import { existsSync } from "node:fs";
import packageJson from "../../../package.json" with { type: "json" };
import { RepoconfError } from "../../../shared/errors.ts";
import type { OperationArguments, OperationName, OperationResults, Reply } from "../../../shared/protocol.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import { ask } from "../../client/ask.ts";
import { type Home, homeAt, homeFolder } from "../../home/home.ts";
import type { SessionOptions } from "../command-options.ts";
import { showingWait } from "../output/terminal.ts";

/** The operations that take a folder in a repository as `path`. */
type ByPath = "config/list" | "config/set";

/**
 * As `askDaemon`, about the repository with the id `repo`, or else about the one that contains the current folder. Also undefined if there is
 * no such repository.
 */
export async function askAbout<Name extends ByPath>(
  name: Name,
  args: OperationArguments<Name>,
  options: SessionOptions & { readonly repo?: string | undefined },
): Promise<Reply<OperationResults[Name]> | undefined> {
  const place = placeIn(options);
  return place && askDaemon(name, { ...args, ...place }, options);
}

/** How to name the repository to the daemon: by id, or by the current folder. Undefined if the long way must find it. */
export function placeIn({
  repo,
  keyFile,
}: Pick<SessionOptions, "keyFile"> & { readonly repo?: string | undefined }):
  | { readonly repo: string }
  | { readonly path: string }
  | undefined {
  if (repo !== undefined) return { repo };
  // Of other keys, the daemon does not let git's folders on this disk decide what their folder is.
  if (keyFile || process.env["REPOCONF_API_KEY"]) return undefined;
  try {
    return { path: process.cwd() };
  } catch {
    // There is no current folder any more; the long way says so.
    return undefined;
  }
}

/** That no daemon runs on a home which one has read before, and the command may start one: nothing was done. */
export class NoDaemonError extends Error {
  override readonly name = "NoDaemonError";
  readonly home: Home;

  constructor(home: Home) {
    super(`no daemon runs on ${home.folder}`);
    this.home = home;
  }
}

/**
 * Asks the running daemon. Undefined if nothing was done and the long way has more to say or to do: no daemon runs or it is older, it has no
 * Unix socket, or it does not accept the key or the arguments. Throws RepoconfError 1201 if it is not known what was
 * changed, NoDaemonError.
 */
export async function askDaemon<Name extends OperationName>(
  name: Name,
  args: OperationArguments<Name>,
  options: Pick<SessionOptions, "home" | "keyFile"> & { readonly start?: boolean },
): Promise<Reply<OperationResults[Name]> | undefined> {
  const { keyFile, start = false } = options;
  const home = homeAt(homeFolder(options.home));
  try {
    const more = { atLeast: packageJson.version, ...(keyFile !== undefined && { keyFile }) };
    const reply = await showingWait(() => ask(home, name, args, more));
    const isEmpty = Object.keys(reply.result ?? {}).length === 0;
    return isEmpty && reply.errors.some(saysNothingWasDone) ? undefined : reply;
  } catch (error) {
    // What was only read may be read again.
    if (isChange(name) && error instanceof RepoconfError && error.code === 1201) throw error;
    // The long way shows how far a daemon is that reads a home for the first time.
    if (start && existsSync(home.indexFile) && !existsSync(home.endpointFile)) throw new NoDaemonError(home);
    return undefined;
  }
}

export function isChange(name: OperationName): boolean {
  return name === "config/set" || name === "history/restore";
}

/** Whether an error is about the request, or about its only repository. */
function saysNothingWasDone({ code, field }: Reply["errors"][number]): boolean {
  return [1006, 1100, 1101, 1102, 1109, 1113].includes(code) || (code === 1007 && field === undefined);
}

/** The schemas that were asked for with the request. */
export function fieldsOf({ schemas = {} }: Reply): ReadonlyMap<string, FieldSchema> {
  return new Map(Object.entries(schemas));
}
