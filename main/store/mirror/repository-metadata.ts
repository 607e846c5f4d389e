import { basename, isAbsolute } from "node:path";
import type { Config } from "../../../shared/config.ts";
import { isJsonObject, type JsonObject } from "../../../shared/json.ts";
import { isRepositoryId } from "../../../shared/repository-id.ts";
import { isRemote } from "../../git/git-remote.ts";
import type { LinkedName, RepositoryInfo, RepositoryMetadata, StorePaths } from "../types.ts";

/** The members that a repository's file in the home can have. The daemon keeps others, and ignores them. */
export const homeMembers: ReadonlySet<string> = new Set([
  "$schema",
  "name",
  "path",
  "remote",
  "favourite",
  "inTree",
  "base",
  "linked",
  "config",
]);

/** New metadata. What is left out stays. */
export interface MetadataChanges {
  readonly name?: string;
  readonly path?: string;
  readonly favourite?: boolean;
}

/** Name and place as the file has them; what is missing or of the wrong type falls back, for the values matter more. */
export function readMetadata(id: string, value: JsonObject): RepositoryMetadata {
  const { name, path, remote, inTree, base, linked, favourite } = value;
  return {
    name: typeof name === "string" && name !== "" ? name : id,
    ...(typeof path === "string" && isAbsolute(path) && { path }),
    ...(isRemote(remote) && { remote }),
    ...(favourite === true && { favourite }),
    inTree: inTree === true && typeof path === "string" && isAbsolute(path),
    ...(inTree === true &&
      typeof base === "string" &&
      isRepositoryId(base) &&
      base !== id && { base, linked: readLinked(id, linked) }),
  };
}

/** As the file has it; what is missing or of the wrong type falls back. */
function readLinked(id: string, value: unknown): LinkedName {
  const { name, slot } = isJsonObject(value) ? value : {};
  return {
    name: typeof name === "string" && name !== "" ? name : id,
    slot: typeof slot === "number" && Number.isSafeInteger(slot) && slot > 0 ? slot : 0,
  };
}

/** What a linked worktree's entry has beside what any repository's has; nothing of another one. */
export function ofBase(entry: Pick<RepositoryInfo, "base" | "linked"> = {}): Pick<RepositoryInfo, "base" | "linked"> {
  const { base, linked } = entry;
  return base === undefined || linked === undefined ? {} : { base, linked };
}

/** The content of a repository's file in the home. */
export function homeFileOf(
  { name, path, remote, inTree, base, linked, favourite }: RepositoryMetadata,
  config: Config,
  { repositorySchemaFile }: Pick<StorePaths, "repositorySchemaFile">,
): JsonObject {
  const place = { ...(path !== undefined && { path }), ...(remote !== undefined && { remote }) };
  const metadata = { name, ...place, ...(favourite && { favourite }) };
  return inTree
    ? { ...metadata, inTree: true, ...(base !== undefined && linked && { base, linked: { ...linked } }) }
    : { $schema: `../${basename(repositorySchemaFile)}`, ...metadata, config };
}

/** The content of a repository's file in the home with new metadata. */
export function withMetadata(file: JsonObject, { favourite, ...changes }: MetadataChanges): JsonObject {
  if (favourite === undefined) return { ...file, ...changes };
  const { favourite: _, ...others } = file;
  return { ...others, ...changes, ...(favourite && { favourite }) };
}

/** A state with what the file in the home says. A path that is missing there stays: a broken pointer keeps the one that it named last. */
export function describedBy<State extends RepositoryMetadata>(state: State, metadata: RepositoryMetadata | undefined) {
  if (metadata === undefined) return state;
  const { favourite: _, ...others } = state;
  return { ...others, ...metadata };
}

/** The content of the file of a local layer. */
export function localFileOf(config: Config, paths: Pick<StorePaths, "repositorySchemaFile">): JsonObject {
  return { $schema: `../${basename(paths.repositorySchemaFile)}`, config };
}
