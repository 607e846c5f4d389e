import { join } from "node:path";
import { inCommandWords } from "../../shared/command-words.ts";
import { splitConfigPath } from "../../shared/config-path.ts";
import { RepoconfError } from "../../shared/errors.ts";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import { isSecretReference } from "../../shared/scopes/hidden-values.ts";
import { type EnvironmentSource, environmentFields, type Variables, variablesOf } from "../../shared/variables.ts";
import { describeCause } from "../files/describe-cause.ts";
import { mainWorkTree, type WorkTree } from "../git/git.ts";
import type { Home } from "../home/home.ts";
import { readStamps, type Stamp } from "./stamps.ts";

/** What the hook of a shell is told about a folder (docs/protocol.md, "config/hook"). */
export interface HookAnswer {
  /** The repository that contains the folder; undefined if there is none. */
  readonly repo?: string;
  readonly variables: { readonly [name: string]: string };
  /** The files that the hook compares at each prompt: after a change, it asks again. */
  readonly stamps: readonly Stamp[];
  /** Why variables are missing, as a message for the user. */
  readonly note?: string;
  /** Only `repoconf` itself, in the shell's environment, can fetch a secret. */
  readonly needsCommand?: true;
  /** Whether asking again may help although nothing has changed, after a pause. */
  readonly isTemporary?: true;
  /** The linked worktree that contains the folder: what was added in its main one counts in it. */
  readonly worktree?: LinkedWorktree;
}

export interface LinkedWorktree {
  readonly folder: string;
  readonly main: string;
}

/** Where a repository's environment is read from. */
interface HookSource {
  readonly home: Pick<Home, "settingsFile" | "trustFile" | "repositories" | "local" | "scopes">;
  readonly repository: Pick<RepositoryEntry, "id" | "path" | "inTree" | "base" | "linked">;
  /** Read before the values: a value that is read before its schema may be a text that the schema then makes a variable. */
  readonly fields: EnvironmentSource["fields"];
  readValues(): Promise<Pick<EnvironmentSource, "config" | "waiting" | "masked">>;
  /** Fetches secrets. If left out, the answer is that the command is needed. */
  resolve?(variables: Variables): Promise<{
    readonly values: { readonly [name: string]: string };
    readonly failures: readonly Error[];
  }>;
}

/** Names that the scripts use. */
const reserved = /^(__repoconf_|REPOCONF_HOOK_)/;

/** The answer about a repository. Throws only what is no fault of its files. */
export async function hookAnswer({ home, repository, fields, readValues, resolve }: HookSource): Promise<HookAnswer> {
  const repo = repository.id;
  const [stamps, trust] = await Promise.all([
    readStamps(filesOf(home, repository, fields)),
    // Only needed while values are untrusted: accepting them changes no other file.
    readStamps([home.trustFile]),
  ]);
  let variables: Variables;
  try {
    variables = variablesOf({ repo, fields, linked: repository.linked, ...(await readValues()) });
    const own = [...variables.keys()].find(name => reserved.test(name));
    if (own !== undefined) throw new RepoconfError(1103, `${own} is reserved for the hook. Rename this variable.`);
  } catch (error) {
    if (!(error instanceof RepoconfError) || error.code >= 1500) throw error;
    const note = inCommandWords(error.message);
    return { repo, variables: {}, stamps: error.code === 1114 ? [...stamps, ...trust] : stamps, note };
  }
  if (resolve === undefined && [...variables.values()].some(({ text }) => isSecretReference(text)))
    return { repo, variables: {}, stamps: [], needsCommand: true };
  try {
    const texts = Array.from(variables, ([name, { text }]) => [name, text] as const);
    const { values, failures } = (await resolve?.(variables)) ?? { values: Object.fromEntries(texts), failures: [] };
    if (failures.length === 0) return { repo, variables: values, stamps };
    // A password manager may be locked, and is unlocked without a change of any file.
    return { repo, variables: values, stamps, note: failures.map(describeCause).join(" "), isTemporary: true };
  } catch (error) {
    return { repo, variables: {}, stamps, note: describeCause(error), isTemporary: true };
  }
}

/** The files that determine the environment: the repository's files, settings with commands for secrets, and schemas with `x-env`. */
function filesOf(
  home: HookSource["home"],
  { id, path, inTree, base }: HookSource["repository"],
  fields: HookSource["fields"],
): string[] {
  const file = inTree && path !== undefined ? join(path, ".repoconf.json") : join(home.repositories, `${id}.json`);
  const scopes = new Set(environmentFields(fields).map(name => splitConfigPath(name)?.scope));
  const schemas = [...scopes].filter(scope => scope !== undefined && scope !== "svc");
  return [
    file,
    join(home.local, `${id}.json`),
    ...(base === undefined ? [] : [join(home.local, `${base}.json`)]),
    home.settingsFile,
    ...schemas.map(scope => join(home.scopes, `${scope}.schema.json`)),
  ];
}

/** A linked worktree, by its folder without links, and its main one; undefined if the work tree is none. Throws UnreachableDiskError. */
export async function linkedWorktree(tree: WorkTree | undefined): Promise<LinkedWorktree | undefined> {
  const main = tree?.linked && (await mainWorkTree(tree.linked.common));
  return tree === undefined || main === undefined ? undefined : { folder: tree.folder, main };
}
