import { type Config, configEntries } from "./config.ts";
import { joinConfigPath } from "./config-path.ts";
import { RepoconfError } from "./errors.ts";
import { isJsonObject, type JsonValue } from "./json.ts";
import type { RepositoryEntry } from "./protocol.ts";
import { isSecretReference } from "./scopes/hidden-values.ts";
import type { FieldSchema } from "./scopes/scope-schema.ts";
import { rawValue } from "./typed-value.ts";

/** A variable in a repository's environment. */
interface Variable {
  /** As stored: it may be a reference to a secret. */
  readonly text: string;
  /** The `<scope>.<field>` from which it comes. */
  readonly field: string;
  /** Whether it is a reference to a secret, or of a field with `x-secret`. */
  readonly isSecret: boolean;
}

/** The variables by name. */
export type Variables = ReadonlyMap<string, Variable>;

type Fields = ReadonlyMap<string, FieldSchema>;

/** What a repository's environment is read from. */
export interface EnvironmentSource {
  readonly repo: string;
  readonly config: Config;
  readonly fields: Fields;
  /** The fields whose values wait for trust. */
  readonly waiting: ReadonlySet<string>;
  /** For a command that is about to run: it needs the values that the scopes require. */
  readonly isForRun?: boolean;
  /** The fields whose values the key may not see. */
  readonly masked: readonly string[];
  /** Of a linked worktree: what its variables `REPOCONF_WORKTREE` and `REPOCONF_SLOT` are, unless its values have such. */
  readonly linked?: RepositoryEntry["linked"] | undefined;
}

/** This field is a list of variables with names and values. Every home has it, so a key for which it is not there may not read it. */
export const listField = "svc.envvars";

/** The fields that the environment consists of; but for a run, without those that only a run has. */
export function environmentFields(fields: Fields, isForRun = false): string[] {
  return [...fields]
    .filter(([path, schema]) => path === listField || isVariable(schema, isForRun))
    .map(([path]) => path);
}

function isVariable(schema: FieldSchema | undefined, isForRun: boolean): boolean {
  return schema?.["x-env"] !== undefined && (isForRun || schema["x-env-in"] !== "run");
}

/**
 * The environment of a repository: the active values of `svc.envvars` and of fields whose schema has `x-env`. Throws RepoconfError 1114 if a
 * value is untrusted, 1105 if the key may not see one or may read none of these fields, 1103 if two variables have the same name, if a value cannot be in a variable, or for
 * a run if values are missing.
 */
export function variablesOf(source: EnvironmentSource): Variables {
  const { repo, config, fields, waiting, masked, linked, isForRun = false } = source;
  const own = environmentFields(fields, isForRun);
  if (own.length === 0) throw noneReadable();
  const hidden = masked.filter(path => own.includes(path));
  if (hidden.length > 0) throw hiddenValues(hidden);
  const untrusted = own.filter(path => waiting.has(path));
  if (untrusted.length > 0) {
    const what = untrusted.length === 1 ? `the value of ${untrusted[0]}` : `the values of ${untrusted.join(", ")}`;
    const message = `The work tree's file puts ${what} into the environment, but nobody has trusted that yet. Review and trust it: repoconf trust --repo ${repo}`;
    throw new RepoconfError(1114, message, { repo });
  }
  const missing = isForRun ? missingFields(config, fields).filter(path => !masked.includes(path)) : [];
  if (missing.length > 0) {
    const message = `Nothing was run, because no value is set for ${missing.join(", ")}, which the scope requires. Set it: repoconf set ${missing[0]}=VALUE`;
    throw new RepoconfError(1103, message, { repo });
  }
  const variables = new Map<string, Variable>();
  for (const { scope, field, value } of configEntries(config)) {
    const path = joinConfigPath(scope, field);
    const unusable = (why: string) => new RepoconfError(1103, why, { repo, field: path });
    for (const [name, text] of variablesIn(path, value, fields, isForRun)) {
      const namesake = variables.get(name);
      if (namesake !== undefined)
        throw unusable(`${namesake.field} and ${path} would both be ${name}. Rename one of them.`);
      if (text.includes("\0")) throw unusable(cannotContain(path, name, "a NUL character"));
      if (!text.isWellFormed()) throw unusable(cannotContain(path, name, "half of a character (a lone surrogate)"));
      const isSecret = isSecretReference(text) || fields.get(path)?.["x-secret"] === true;
      variables.set(name, { text, field: path, isSecret });
    }
  }
  const ofWorktree = linked === undefined ? {} : { REPOCONF_WORKTREE: linked.name, REPOCONF_SLOT: `${linked.slot}` };
  for (const [name, text] of Object.entries(ofWorktree))
    if (!variables.has(name)) variables.set(name, { text, field: "linked", isSecret: false });
  return variables;
}

/** The fields that a scope requires and that have no value. */
function missingFields(config: Config, fields: Fields): string[] {
  return [...configEntries(config)].flatMap(({ scope, field, value }) => {
    const path = joinConfigPath(scope, field);
    return value === null && fields.get(path)?.["x-required"] === true ? [path] : [];
  });
}

function cannotContain(path: string, name: string, what: string): string {
  const of = name.isWellFormed() ? `The variable ${name} of ${path}` : path;
  return `${of} contains ${what}, which a variable cannot contain. Set it again without that.`;
}

function variablesIn(
  path: string,
  value: JsonValue,
  fields: Fields,
  isForRun: boolean,
): (readonly [name: string, text: string])[] {
  if (path === listField && Array.isArray(value))
    return value.flatMap(one => (isJsonObject(one) ? [[String(one["name"]), String(one["value"])] as const] : []));
  const schema = fields.get(path);
  const name = schema?.["x-env"];
  // Null means that the variable is not set.
  if (name === undefined || value === null || !isVariable(schema, isForRun)) return [];
  return [[name, rawValue(value)]];
}

function noneReadable(): RepoconfError {
  const message = `This key may read none of the fields that the environment comes from, such as ${listField}. Use the owner's key, or one whose grants have them.`;
  return new RepoconfError(1105, message, { field: listField });
}

function hiddenValues(paths: readonly string[]): RepoconfError {
  const what = paths.length === 1 ? "the value of" : "the values of";
  const message = `This key may not see ${what} ${paths.join(", ")}. Use the owner's key, or one made with --reveal.`;
  return new RepoconfError(1105, message, { details: { right: "reveal" } });
}
