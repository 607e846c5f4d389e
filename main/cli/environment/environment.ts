import type { RepoconfClient } from "../../../shared/client/client.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { RepositoryEntry } from "../../../shared/protocol.ts";
import { environmentFields, listField, type Variables, variablesOf } from "../../../shared/variables.ts";
import { listFields, readConfig } from "../connect/fields.ts";
import { printNote } from "../output/terminal.ts";

/** The environment of a repository; tells of what the key may not read, unless `isQuiet`. Throws as `variablesOf`. */
export async function readVariables(
  client: RepoconfClient,
  repository: Pick<RepositoryEntry, "id" | "linked">,
  { isForRun = false, isQuiet = false } = {},
): Promise<Variables> {
  // First, because a value that is read before its schema may be a text that the schema then makes a variable.
  const fields = await listFields(client);
  if (!isQuiet && !fields.has(listField) && environmentFields(fields).length > 0)
    printNote(`The variables of ${listField} are left out, because this key may not read them.`);
  return variablesOf({ ...(await readValues(client, repository)), fields, isForRun });
}

/** The values that `variablesOf` needs beside the fields, which must have been read before. */
export async function readValues(client: RepoconfClient, { id, linked }: Pick<RepositoryEntry, "id" | "linked">) {
  // First, because it reads the file: another branch may be checked out, and the daemon has not believed it yet.
  const waiting = await untrustedFields(client, id);
  const { config, masked } = await readConfig(client, { repo: id });
  return { repo: id, config, masked, waiting, linked };
}

/** The fields with untrusted values: read from the current file, or from the last health if the key may not list trust. */
async function untrustedFields(client: RepoconfClient, repo: string): Promise<ReadonlySet<string>> {
  try {
    return new Set((await client.run("trust/list", { repo })).map(({ field }) => field));
  } catch (error) {
    if (!(error instanceof RepoconfError) || error.code !== 1105) throw error;
    const [entry] = await client.run("repo/list", { repo });
    const fields = entry?.health.flatMap(({ code, field }) => (code === 1114 && field !== undefined ? [field] : []));
    return new Set(fields);
  }
}
