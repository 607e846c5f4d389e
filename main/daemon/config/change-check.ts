import { type ConfigEdit, configValue } from "../../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { limitExceeded, RepoconfError } from "../../../shared/errors.ts";
import { allows } from "../../../shared/grants.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import { SpareSteps } from "../../../shared/schema/step-budget.ts";
import { applyValueEdits, nestsDeeper, pointerTokens, type ValueEdit } from "../../../shared/value-edit.ts";
import { showPointer, showSteps } from "../../../shared/value-place.ts";
import type { BrokenReference, Scopes } from "../../scopes/scopes.ts";
import type { Store } from "../../store/store.ts";
import type { RepositoryState } from "../../store/types.ts";
import type { Caller } from "../keys/caller.ts";
import { jsonBytes } from "../socket/measure.ts";

/** A set or unset; the types of its arguments have been checked. */
export interface ConfigChangeRequest {
  readonly repos: readonly string[];
  /** The new values by field (`<scope>.<field>`, as named in the request); undefined to unset. */
  readonly values: ReadonlyMap<string, JsonValue | undefined>;
  /** Edits inside the values of fields that are not in `values`, also by field. */
  readonly edits?: ReadonlyMap<string, readonly ValueEdit[]>;
  readonly source: "set" | "unset" | "restore";
  /** Compare and set: the revision each repository must have. */
  readonly revisions: ReadonlyMap<string, number>;
  readonly atomic: boolean;
  readonly dryRun: boolean;
  readonly reason?: string | undefined;
  readonly flush: boolean;
  /** The batch, as named in the request. */
  readonly batch?: string | undefined;
  /** It is not an error if nothing changes. */
  readonly mayBeEmpty?: boolean;
}

/** Where a value comes from; `edits`: from the one before. */
type ValueSource = ConfigChangeRequest["source"] | "edits";

/** The outcome of the request for one repository. */
export interface Decision {
  readonly errors: readonly RepoconfError[];
  /** The edits that apply after the request, whether they change anything or not. */
  readonly accepted: readonly ConfigEdit[];
  readonly changes: boolean;
}

/** Decides which values of a request a repository takes: rights, schemas, trust, rules across fields, compare and set. */
export class ChangeCheck {
  readonly #store: Pick<Store, "trust">;
  readonly #scopes: Scopes;

  constructor(store: Pick<Store, "trust">, scopes: Scopes) {
    this.#store = store;
    this.#scopes = scopes;
  }

  /** The outcome of the request for one repository in one state. Pure, because the store may call it again. */
  decide(caller: Caller, state: RepositoryState, request: ConfigChangeRequest): Decision {
    const wanted = request.revisions.get(state.id);
    if (wanted !== undefined && wanted !== state.revision) {
      const message = `The repository is at revision ${state.revision}, not ${wanted}: it was changed in the meantime. Read it again, then retry.`;
      const error = new RepoconfError(1104, message, { repo: state.id, details: { current: state.revision } });
      return { errors: [error], accepted: [], changes: false };
    }
    const errors: RepoconfError[] = [];
    const edits: ConfigEdit[] = [];
    const spare = new SpareSteps();
    for (const [path, value] of request.values) {
      const edit = this.#checkField(caller, state, path, value, request.source, spare);
      if (edit instanceof RepoconfError) errors.push(edit);
      else edits.push(edit);
    }
    for (const [path, changes] of request.edits ?? []) {
      const value = this.#editedValue(state, path, changes);
      const edit =
        value instanceof RepoconfError ? value : this.#checkField(caller, state, path, value, "edits", spare);
      if (edit instanceof RepoconfError) errors.push(edit);
      else edits.push(edit);
    }
    const stored = state.stored ?? {};
    const accepted = this.#checkReferences(caller, state, edits, errors);
    const changes = accepted.some(({ scope, field, value }) => !sameJson(configValue(stored, scope, field), value));
    return { errors, accepted, changes };
  }

  /** The field's value after edits inside it; a field without a stored value starts from its default. */
  #editedValue(
    { id: repo, stored = {} }: RepositoryState,
    path: string,
    edits: readonly ValueEdit[],
  ): JsonValue | undefined | RepoconfError {
    const split = splitConfigPath(path);
    const schema = split && this.#scopes.field(split.scope, split.field)?.schema;
    const own = split && configValue(stored, split.scope, split.field);
    const before = own === undefined ? schema?.default : own;
    const outcome = applyValueEdits(before, edits, schema);
    if ("problem" in outcome) {
      const { message, path: pointer, given } = outcome.problem;
      return new RepoconfError(1103, `${showSteps(path, pointerTokens(pointer), schema)} ${message}.`, {
        repo,
        field: path,
        details: { path: pointer, rule: "edits", given },
      });
    }
    const { value } = outcome;
    // Taking away what is not there does not store the default.
    if (own === undefined && edits.every(({ op }) => op === "unset" || op === "remove") && sameJson(value, before))
      return undefined;
    // The same limit as for a message.
    const deepest = limits.messageNesting - 1;
    if (nestsDeeper(value, deepest))
      return limitExceeded("levels in a value", deepest + 1, deepest, path).inRepository(repo);
    const bytes = jsonBytes(value);
    const isTooLarge = bytes > limits.valueBytes;
    return isTooLarge ? limitExceeded("bytes in a value", bytes, limits.valueBytes, path).inRepository(repo) : value;
  }

  #checkField(
    caller: Caller,
    state: RepositoryState,
    path: string,
    value: JsonValue | undefined,
    source: ValueSource,
    spare: SpareSteps,
  ): ConfigEdit | RepoconfError {
    const { id: repo, stored = {}, inTree } = state;
    const split = splitConfigPath(path);
    const field = split && this.#scopes.field(split.scope, split.field);
    if (split === undefined || field === undefined || !allows(caller.grants, "write", repo, path))
      return noSuchField(path, repo);
    const unused = unusedValue(state, path, source);
    if (unused !== undefined) return unused;
    const problem = value === undefined ? undefined : field.validate(value, spare);
    if (value === undefined || problem === undefined) {
      const isServed = value === undefined || sameJson(configValue(stored, split.scope, split.field), value);
      // Unlike a set, a restore brings back values that nobody has reviewed, so it gives no trust.
      const isFree = source !== "restore" || !field.isCommand || isServed;
      const isTrusted = isFree || !inTree || this.#store.trust.has(repo, this.#scopes, split, value);
      return isTrusted ? { ...split, value } : untrustedValue(path, repo);
    }
    const { message, path: pointer, rule, given } = problem;
    return new RepoconfError(1103, `${showPointer(path, pointer, value, field.schema)} ${message}.`, {
      repo,
      field: path,
      details: { path: pointer, rule, given },
    });
  }

  /** Leaves out the edits that would make a field refer to a missing key; the rules apply to the result as a whole. */
  #checkReferences(
    caller: Caller,
    state: RepositoryState,
    edits: readonly ConfigEdit[],
    errors: RepoconfError[],
  ): readonly ConfigEdit[] {
    let accepted = edits;
    for (;;) {
      const found = this.#findCulprit(state, accepted);
      if (found === undefined) return accepted;
      const { culprit, broken } = found;
      const message = describeReference(broken, culprit, path => allows(caller.grants, "read", state.id, path));
      errors.push(
        new RepoconfError(1103, message, {
          repo: state.id,
          field: joinConfigPath(culprit.scope, culprit.field),
          details: { path: "", rule: "x-keyOf", given: "string" },
        }),
      );
      accepted = accepted.filter(edit => edit !== culprit);
    }
  }

  /** A broken reference and the edit that breaks it: the values before the edits kept the rule. */
  #findCulprit(
    state: RepositoryState,
    edits: readonly ConfigEdit[],
  ): { culprit: ConfigEdit; broken: BrokenReference } | undefined {
    const stored = state.stored ?? {};
    const edited = new Map(edits.map(edit => [joinConfigPath(edit.scope, edit.field), edit]));
    const storedAt = (scope: string, field: string) => {
      const edit = edited.get(joinConfigPath(scope, field));
      return edit === undefined ? configValue(stored, scope, field) : edit.value;
    };
    for (const broken of this.#scopes.brokenReferences(storedAt)) {
      const { scope, field, target } = broken;
      const culprit =
        edits.find(edit => edit.scope === scope && edit.field === field) ??
        edits.find(edit => edit.scope === scope && edit.field === target);
      if (culprit !== undefined) return { culprit, broken };
    }
    return undefined;
  }
}

/** A key that may not read both fields of a rule only learns that there is a rule. */
function describeReference(broken: BrokenReference, culprit: ConfigEdit, canRead: (path: string) => boolean): string {
  const [path, target] = [joinConfigPath(broken.scope, broken.field), joinConfigPath(broken.scope, broken.target)];
  if (!canRead(path) || !canRead(target)) {
    return `${joinConfigPath(culprit.scope, culprit.field)} would break a rule that ties it to another field.`;
  }
  return culprit.field === broken.field
    ? `${path} must be empty or a key of ${target}, and "${broken.value}" is not a key of it.`
    : `${path} refers to "${broken.value}", which this change removes from ${target}. Set ${path} in the same request.`;
}

export function noSuchField(field: string, repo?: string, hint = " To list all fields: scope/list."): RepoconfError {
  const message = `There is no field "${field}" that this key may write.${hint}`;
  return new RepoconfError(1007, message, { ...(repo !== undefined && { repo }), field });
}

/**
 * The error of a value that comes from an older one than the file has, so that nobody would notice that the file's is replaced. Undefined
 * if the file's is active, or is meant to be replaced.
 */
function unusedValue(
  { id: repo, health }: RepositoryState,
  path: string,
  source: ValueSource,
): RepoconfError | undefined {
  const found = health.find(({ code, field }) => field === path && (code === 1114 || code === 1103));
  const isDerived = source === "edits" || (source === "restore" && found?.code === 1114);
  if (found === undefined || !isDerived) return undefined;
  const why =
    found.code === 1114
      ? "waits for trust. Review it first (trust/list)"
      : "is invalid, so the last valid one is active. Correct it first";
  const message = `This would replace the file's value of ${path}, which ${why}, or set the whole value.`;
  return new RepoconfError(found.code, message, { repo, field: path });
}

function untrustedValue(field: string, repo: string): RepoconfError {
  const message = `The value of ${field} at that revision runs as a command that nobody has trusted in this repository. Review it, and set it if you trust it.`;
  return new RepoconfError(1114, message, { repo, field });
}
