import { type Config, configValue, filterConfig } from "../../../shared/config.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { allows, allowsEveryField, type Grants } from "../../../shared/grants.ts";
import type { HealthProblem } from "../../../shared/protocol.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { RepositoryState } from "../../store/types.ts";

interface Views {
  readonly effective: Config;
  readonly readable: WeakMap<Grants, Config>;
}

/** The readable parts of a state, made once for each state and each key's grants; `list` returns these objects. */
export class ConfigViews {
  readonly #scopes: Scopes;
  #defaults: Config;
  #views = new WeakMap<RepositoryState, Views>();
  readonly #scopesOf = new WeakMap<Config, Map<string, Config>>();

  constructor(scopes: Scopes) {
    this.#scopes = scopes;
    this.#defaults = scopes.defaults;
  }

  /** The effective values that the grants allow to read; `{}` if there are none. */
  readable(state: RepositoryState, grants: Grants): Config {
    const { effective, readable } = this.#viewsOf(state);
    let view = readable.get(grants);
    if (view === undefined) {
      view = readableConfig(effective, state.id, grants);
      readable.set(grants, view);
    }
    return view;
  }

  /** One scope of an immutable configuration, with all its fields; the same object each time. */
  scopeOf(config: Config, scope: string): Config {
    let views = this.#scopesOf.get(config);
    if (views === undefined) {
      views = new Map();
      this.#scopesOf.set(config, views);
    }
    let view = views.get(scope);
    if (view === undefined) {
      view = narrow(config, { scope });
      views.set(scope, view);
    }
    return view;
  }

  #viewsOf(state: RepositoryState): Views {
    if (this.#defaults !== this.#scopes.defaults) {
      this.#defaults = this.#scopes.defaults;
      this.#views = new WeakMap();
    }
    let views = this.#views.get(state);
    if (views === undefined) {
      views = { effective: this.#scopes.effective(state.stored ?? {}), readable: new WeakMap() };
      this.#views.set(state, views);
    }
    return views;
  }
}

/** The part of repository `repo`'s configuration that the grants allow to read. */
export function readableConfig(config: Config, repo: string, grants: Grants): Config {
  if (allowsEveryField(grants, "read", repo)) return config;
  return filterConfig(config, (scope, field) => allows(grants, "read", repo, joinConfigPath(scope, field)));
}

/** One scope or one field of a configuration; without a scope, all of it. */
export function narrow(config: Config, { scope, field }: { readonly scope?: string; readonly field?: string }): Config {
  if (scope === undefined) return config;
  const fields = Object.hasOwn(config, scope) ? (config[scope] ?? {}) : {};
  if (field === undefined) return { [scope]: fields };
  const value = configValue(config, scope, field);
  return { [scope]: value === undefined ? {} : { [field]: value } };
}

/** The problems of a repository that the caller may know. */
export function readableHealth(
  grants: Grants,
  repo: string,
  health: readonly HealthProblem[],
): readonly HealthProblem[] {
  if (allowsEveryField(grants, "read", repo)) return health;
  return health.flatMap(problem => {
    const { code, field, line } = problem;
    // An entry that only counts further problems may count fields that the key may not read.
    if (field === undefined && (code === 1011 || code === 1103)) return [];
    // A problem of the whole file may mention anything in it.
    if (field === undefined && code !== 1106) return problem;
    if (field === undefined)
      return { code, message: "The repository's file is invalid.", ...(line !== undefined && { line }) };
    // A problem of a whole unknown scope has only the scope's name.
    return allows(grants, "read", repo, field.includes(".") ? field : `${field}.*`) ? problem : [];
  });
}

export interface RequestedPath {
  readonly scope?: string;
  readonly field?: string;
  /** A `field` without a dot. */
  readonly text?: string;
}

export function isThere(config: Config, { scope, field, text }: RequestedPath): boolean {
  if (text !== undefined || scope === undefined || !Object.hasOwn(config, scope)) return false;
  return field === undefined || configValue(config, scope, field) !== undefined;
}
