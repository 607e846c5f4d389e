import type { RepoconfClient } from "../../../shared/client/client.ts";
import { type Config, configEntries } from "../../../shared/config.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { isJsonObject, type JsonValue } from "../../../shared/json.ts";
import type { RepositoryEntry } from "../../../shared/protocol.ts";
import { rawValue } from "../../../shared/typed-value.ts";
import { type Fields, listFields, readConfig } from "../connect/fields.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";

/** A variable in a repository's environment. */
interface Variable {
  /** As stored: it may be a reference to a secret. */
  readonly text: string;
  /** The `<scope>.<field>` from which it comes. */
  readonly field: string;
}

/** The variables by name. */
export type Variables = ReadonlyMap<string, Variable>;

/** This field is a list of variables with names and values. */
const listField = "svc.envvars";

/** The repository's environment has untrusted values. */
export class UntrustedEnvironmentError extends CommandError {}

/** The fields that the environment consists of. */
export function environmentFields(fields: Fields): string[] {
  return [...fields]
    .filter(([path, schema]) => path === listField || schema["x-env"] !== undefined)
    .map(([path]) => path);
}

/**
 * The environment of a repository: the active values of `svc.envvars` and of fields whose schema has `x-env`. Throws CommandError if a
 * value is untrusted, if two variables have the same name, or if a value cannot be in a variable.
 */
export async function readVariables(client: RepoconfClient, { id }: Pick<RepositoryEntry, "id">): Promise<Variables> {
  // First, because a value that is read before its schema may be a text that the schema then makes a variable.
  const fields = await listFields(client);
  const [{ config }, untrustedPaths] = await Promise.all([
    readConfig(client, { repo: id }),
    untrustedFields(client, id),
  ]);
  return variablesOf({ repo: id, config, fields, waiting: untrustedPaths });
}

/** What a repository's environment is read from. */
export interface EnvironmentSource {
  readonly repo: string;
  readonly config: Config;
  readonly fields: Fields;
  /** The fields whose values wait for trust. */
  readonly waiting: ReadonlySet<string>;
}

/** Throws as `readVariables`. */
export function variablesOf({ repo, config, fields, waiting }: EnvironmentSource): Variables {
  const untrusted = environmentFields(fields).filter(path => waiting.has(path));
  if (untrusted.length > 0) {
    const what = untrusted.length === 1 ? `the value of ${untrusted[0]}` : `the values of ${untrusted.join(", ")}`;
    const message = `The work tree's file puts ${what} into the environment, but nobody has trusted that yet. Review and trust it: repoconf trust --repo ${repo}`;
    throw new UntrustedEnvironmentError(message, exitCodes.refused);
  }
  const variables = new Map<string, Variable>();
  for (const { scope, field, value } of configEntries(config)) {
    const path = joinConfigPath(scope, field);
    for (const [name, text] of variablesIn(path, value, fields)) {
      const namesake = variables.get(name);
      if (namesake !== undefined)
        throw new CommandError(
          `${namesake.field} and ${path} would both be ${name}. Rename one of them.`,
          exitCodes.refused,
        );
      if (text.includes("\0")) throw cannotBeVariable(path, name, "a NUL character");
      if (!text.isWellFormed()) throw cannotBeVariable(path, name, "half of a character (a lone surrogate)");
      variables.set(name, { text, field: path });
    }
  }
  return variables;
}

function cannotBeVariable(path: string, name: string, what: string): CommandError {
  const of = name.isWellFormed() ? `The variable ${name} of ${path}` : path;
  return new CommandError(
    `${of} contains ${what}, which a variable cannot contain. Set it again without that.`,
    exitCodes.refused,
  );
}

function variablesIn(path: string, value: JsonValue, fields: Fields): (readonly [name: string, text: string])[] {
  if (path === listField && Array.isArray(value))
    return value.flatMap(one => (isJsonObject(one) ? [[String(one["name"]), String(one["value"])] as const] : []));
  const name = fields.get(path)?.["x-env"];
  // Null means that the variable is not set.
  return name === undefined || value === null ? [] : [[name, rawValue(value)]];
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
