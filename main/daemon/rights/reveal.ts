import { type Config, configValue, filterConfig } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { allows, allowsEveryField } from "../../../shared/grants.ts";
import type { JsonValue } from "../../../shared/json.ts";
import { needsReveal } from "../../../shared/scopes/hidden-values.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { LastChange } from "../../store/types.ts";
import type { LayerValues } from "../../store/values/counted-values.ts";
import type { Caller } from "../keys/caller.ts";

/** The values of a configuration that a caller may see, and the fields whose values it may not see. */
export interface Shown {
  readonly config: Config;
  /** `<scope>.<field>`. */
  readonly masked: readonly string[];
}

export function mayReveal({ rights }: Pick<Caller, "rights">): boolean {
  return rights.includes("reveal");
}

/** Whether the caller lacks the right to see a field's values, or one of these. */
export function isHidden(
  caller: Pick<Caller, "rights">,
  schema: FieldSchema | undefined,
  ...values: readonly (JsonValue | undefined)[]
): boolean {
  return !mayReveal(caller) && needsReveal(schema, ...values);
}

/** Whether the caller may not see a field's value in one of the layers, or one of these. */
export function hidesAny(
  caller: Pick<Caller, "rights">,
  scopes: Pick<Scopes, "field">,
  layers: readonly LayerValues[],
  { scope, field }: ConfigPath,
  ...values: readonly (JsonValue | undefined)[]
): boolean {
  if (mayReveal(caller)) return false;
  const present = layers.map(({ stored }) => configValue(stored, scope, field));
  return isHidden(caller, scopes.field(scope, field)?.schema, ...present, ...values);
}

/** What a caller may see of a configuration that has only what its grants allow to read. */
export function shownConfig(readable: Config, caller: Pick<Caller, "rights">, scopes: Pick<Scopes, "field">): Shown {
  if (mayReveal(caller)) return { config: readable, masked: [] };
  const masked: string[] = [];
  const config = filterConfig(readable, (scope, field) => {
    const hides = isHidden(caller, scopes.field(scope, field)?.schema, configValue(readable, scope, field));
    if (hides) masked.push(joinConfigPath(scope, field));
    return !hides;
  });
  return { config, masked };
}

/** Whether nothing of a repository's file is kept from the caller. */
export function seesEverything(caller: Caller, repo: string): boolean {
  return mayReveal(caller) && allowsEveryField(caller.grants, "read", repo);
}

/** Whether the caller may see the reason of another's change, which may mention every field and value of it. */
export function maySeeReason(
  caller: Caller,
  repo: string,
  { paths, hasReference }: LastChange,
  scopes: Pick<Scopes, "field">,
): boolean {
  return (mayReveal(caller) || !hasReference) && paths.every(path => maySeeValues(caller, repo, path, scopes));
}

/** Whether the caller may see whatever values the field's schema allows. */
function maySeeValues(caller: Caller, repo: string, path: string, scopes: Pick<Scopes, "field">): boolean {
  const { scope = "", field = "" } = splitConfigPath(path) ?? {};
  return allows(caller.grants, "read", repo, path) && !isHidden(caller, scopes.field(scope, field)?.schema);
}

/** The error of a broken file (1106) as the caller may see it; any other error unchanged. */
export function visibleError(caller: Caller, error: RepoconfError): RepoconfError {
  if (error.code !== 1106 || error.repo === undefined || seesEverything(caller, error.repo)) return error;
  return new RepoconfError(1106, "The repository's file is invalid. Its owner must fix it.", { repo: error.repo });
}
