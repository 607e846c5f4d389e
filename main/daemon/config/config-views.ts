import { type Config, configValue, filterConfig } from "../../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { allows, allowsEveryField, type Grants } from "../../../shared/grants.ts";
import { describeProblem } from "../../../shared/health.ts";
import type { HealthProblem } from "../../../shared/protocol.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { RepositoryState } from "../../store/types.ts";
import type { Caller } from "../keys/caller.ts";
import { isHidden, mayReveal, type Shown, seesEverything, shownConfig } from "../rights/reveal.ts";

interface Views {
  readonly effective: Config;
  readonly readable: WeakMap<Grants, Config>;
  /** With what it was made of, as a caller's grants may change. */
  readonly shown: WeakMap<Caller, { readonly of: Config; readonly view: Shown }>;
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

  /** The effective values that the caller may see, and the fields that it may read but whose values it may not see. */
  shown(state: RepositoryState, caller: Caller): Shown {
    const readable = this.readable(state, caller.grants);
    if (mayReveal(caller)) return { config: readable, masked: [] };
    const { shown } = this.#viewsOf(state);
    const known = shown.get(caller);
    if (known?.of === readable) return known.view;
    const view = shownConfig(readable, caller, this.#scopes);
    shown.set(caller, { of: readable, view });
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
      views = {
        effective: this.#scopes.effective(state.stored ?? {}),
        readable: new WeakMap(),
        shown: new WeakMap(),
      };
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
  caller: Caller,
  repo: string,
  health: readonly HealthProblem[],
  scopes: Pick<Scopes, "field">,
): readonly HealthProblem[] {
  if (seesEverything(caller, repo)) return health;
  const { grants } = caller;
  const isWhole = allowsEveryField(grants, "read", repo);
  // Where a value is in a file tells how long others are.
  return health.flatMap(({ line: _, column: __, ...problem }) => {
    const { code, field } = problem;
    // Whether values of two layers fit together depends on both.
    if (code === 1115 && problem.layer !== undefined && !mayReveal(caller)) return [];
    if (isWhole && field === undefined && code !== 1106) return problem;
    // An entry that only counts further problems may count fields that the key may not read.
    if (field === undefined && (code === 1011 || code === 1103)) return [];
    // A problem of the whole file may mention anything in it.
    if (field === undefined && code !== 1106) return problem;
    if (field === undefined) return { code, message: "The repository's file is invalid." };
    // A problem of a whole unknown scope has only the scope's name.
    if (!allows(grants, "read", repo, field.includes(".") ? field : `${field}.*`)) return [];
    return code === 1103 || code === 1115 ? (withoutValues(problem, caller, scopes) ?? []) : problem;
  });
}

/** What is wrong with a value may name parts of it. Undefined: that something is wrong tells what it is. */
function withoutValues(
  problem: HealthProblem,
  caller: Caller,
  scopes: Pick<Scopes, "field">,
): HealthProblem | undefined {
  const { scope = "", field = "" } = splitConfigPath(problem.field ?? "") ?? {};
  const schema = scopes.field(scope, field)?.schema;
  const hides = isHidden(caller, schema) || /cmd:\/\//i.test(problem.message);
  if (mayReveal(caller) || !hides) return problem;
  // Whether a linked worktree can raise what it inherits tells whether that is a number, and how high.
  if (schema?.["x-step"] !== undefined) return undefined;
  const what = problem.code === 1115 ? "has no valid format, or an old name" : "is invalid and not used";
  return { ...problem, message: `The file's value of ${problem.field} ${what}.` };
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

/** Whether a field (`<scope>.<field>`) belongs to what was requested. */
export function isWithin(path: string, { scope = "", field }: RequestedPath): boolean {
  return field === undefined ? path.startsWith(`${scope}.`) : path === joinConfigPath(scope, field);
}

export interface ListRequest {
  readonly repo: string;
  readonly scope?: string | undefined;
  readonly field?: string | undefined;
  readonly stored?: boolean | undefined;
  readonly revision?: number | undefined;
}

export function unknownField({ scope, field, text }: RequestedPath, newName?: string): RepoconfError {
  const name = text ?? (field === undefined ? (scope ?? "") : joinConfigPath(scope ?? "", field));
  const what = text === undefined ? (field === undefined ? "scope" : "field") : "field";
  const renamed = newName === undefined ? "" : ` It is now called "${newName}".`;
  const hint = text === undefined ? renamed : " Fields are written <scope>.<field>.";
  return new RepoconfError(1011, `There is no ${what} "${name}" that this key may read.${hint}`, { field: name });
}

export function brokenFile({ id, broken }: RepositoryState): RepoconfError {
  const what = broken === undefined ? "It is invalid." : `${describeProblem(broken)}.`;
  const message = `The repository's file is invalid, and no valid values of it are known. Fix it and retry: ${what}`;
  return new RepoconfError(1106, message, { repo: id });
}

/** Undefined: everything is requested. "" counts as omitted. */
export function requestedPath({ scope, field }: ListRequest): RequestedPath | undefined {
  if (!scope && !field) return undefined;
  if (scope) return field ? { scope, field } : { scope };
  const split = splitConfigPath(field ?? "");
  return split ?? { text: field ?? "" };
}
