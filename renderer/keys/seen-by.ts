import { splitConfigPath } from "../../shared/config-path.ts";
import { allows, allowsSomewhere, type Grants } from "../../shared/grants.ts";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import { describeEffect } from "../../shared/scopes/describe-effect.ts";
import { needsReveal } from "../../shared/scopes/hidden-values.ts";
import { effectOf, runsAsCommand } from "../../shared/scopes/scope-schema.ts";
import { findField, type ScopeEntry } from "../state/store.ts";
import { covers, pathsOf } from "./field-patterns.ts";

/** The maximum of repositories whose fields are listed; the others are only counted. */
const maxListed = 10;

export interface SeenField {
  /** `<scope>.<field>` */
  readonly path: string;
  readonly isMasked: boolean;
  /** What its value does outside of Repoconf, if this key could set it. */
  readonly effect?: string;
}

/** What a key would currently see. */
export interface Seen {
  /** The number of repositories. */
  readonly repositories: number;
  readonly fields: number;
  /** The first few repositories with their fields. */
  readonly listed: readonly { readonly repository: RepositoryEntry; readonly fields: readonly SeenField[] }[];
  /** Patterns that no field matches. */
  readonly idle: readonly string[];
}

/**
 * What a key with these grants could read, decided by the same code as in the daemon. `covered`: the repositories that the grants
 * name.
 */
export function seenBy(grants: Grants, covered: readonly RepositoryEntry[], scopes: readonly ScopeEntry[]): Seen {
  const paths = pathsOf(scopes);
  const readable = paths.filter(path => allowsSomewhere(grants, "read", path));
  const fieldsIn = (repo: string): SeenField[] =>
    readable
      .filter(path => allows(grants, "read", repo, path))
      .map(path => {
        const { scope = "", field = "" } = splitConfigPath(path) ?? {};
        const schema = findField(scopes, scope, field);
        return {
          path,
          isMasked: schema !== undefined && needsReveal(schema),
          ...(schema !== undefined &&
            runsAsCommand(schema) &&
            allows(grants, "write", repo, path) && { effect: describeEffect(effectOf(schema), path) }),
        };
      });
  return {
    repositories: readable.length === 0 ? 0 : covered.length,
    fields: covered.length === 0 ? 0 : readable.length,
    listed:
      readable.length === 0
        ? []
        : covered.slice(0, maxListed).map(repository => ({ repository, fields: fieldsIn(repository.id) })),
    idle: grants
      .flatMap(({ fields }) => fields)
      .filter(pattern => pattern !== "*" && !paths.some(path => covers([pattern], path))),
  };
}
