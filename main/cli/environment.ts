import type { RepoconfClient } from "../../shared/client/client.ts";
import { type Config, configEntries } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import { RepoconfError } from "../../shared/errors.ts";
import { isJsonObject, type JsonValue } from "../../shared/json.ts";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { type Fields, listFields, rawValue } from "./fields.ts";
import { readConfig } from "./read-config.ts";

/** One variable of a repository's environment. */
interface Variable {
  /** As stored: it may be a reference to a secret. */
  readonly text: string;
  /** The `<scope>.<field>` that it comes from. */
  readonly field: string;
}

/** By name. */
export type Variables = ReadonlyMap<string, Variable>;

/** A list of names and values. */
const listField = "svc.envvars";

/** Values of the repository's environment wait for trust. */
export class UntrustedEnvironmentError extends CommandError {}

/** The fields that make the environment. */
export function environmentFields(fields: Fields): string[] {
  return [...fields]
    .filter(([path, schema]) => path === listField || schema["x-env"] !== undefined)
    .map(([path]) => path);
}

/**
 * The environment of a repository: `svc.envvars`, and the fields whose schema says `x-env`, as they are active. Throws
 * CommandError while one of these values waits for trust, where two would have one name, or where one can be no variable.
 */
export async function readVariables(client: RepoconfClient, { id }: Pick<RepositoryEntry, "id">): Promise<Variables> {
  const [{ config }, fields, waiting] = await Promise.all([
    readConfig(client, { repo: id }),
    listFields(client),
    fieldsThatWait(client, id),
  ]);
  const untrusted = environmentFields(fields).filter(path => waiting.has(path));
  if (untrusted.length > 0) {
    const what = untrusted.length === 1 ? `the value of ${untrusted[0]}` : `the values of ${untrusted.join(", ")}`;
    const message = `The work tree's file puts ${what} into the environment, but nobody has trusted that yet. Review and trust it: repoconf trust --repo ${id}`;
    throw new UntrustedEnvironmentError(message, exitCodes.refused);
  }
  return variablesOf(config, fields);
}

/** Throws CommandError where two would have one name, or one can be no variable. */
function variablesOf(config: Config, fields: Fields): Variables {
  const variables = new Map<string, Variable>();
  for (const { scope, field, value } of configEntries(config)) {
    const path = joinConfigPath(scope, field);
    for (const [name, text] of variablesIn(path, value, fields)) {
      const namesake = variables.get(name);
      if (namesake !== undefined)
        throw new CommandError(`${namesake.field} and ${path} would both be ${name}.`, exitCodes.refused);
      if (text.includes("\0"))
        throw new CommandError(`${path} contains a NUL character, which a variable cannot hold.`, exitCodes.refused);
      variables.set(name, { text, field: path });
    }
  }
  return variables;
}

function variablesIn(path: string, value: JsonValue, fields: Fields): (readonly [name: string, text: string])[] {
  if (path === listField && Array.isArray(value))
    return value.flatMap(one => (isJsonObject(one) ? [[String(one["name"]), String(one["value"])] as const] : []));
  const name = fields.get(path)?.["x-env"];
  // Null means that there is no variable.
  return name === undefined || value === null ? [] : [[name, rawValue(value)]];
}

/** By the current file, if the key may ask; else as the daemon last saw it. */
async function fieldsThatWait(client: RepoconfClient, repo: string): Promise<ReadonlySet<string>> {
  try {
    return new Set((await client.run("trust/list", { repo })).map(({ field }) => field));
  } catch (error) {
    if (!(error instanceof RepoconfError) || error.code !== 1105) throw error;
    const [entry] = await client.run("repo/list", { repo });
    const fields = entry?.health.flatMap(({ code, field }) => (code === 1114 && field !== undefined ? [field] : []));
    return new Set(fields);
  }
}
