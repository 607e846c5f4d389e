import { createHash, randomBytes } from "node:crypto";
import { configValue } from "../../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { limitExceeded, RepoconfError } from "../../../shared/errors.ts";
import { allows } from "../../../shared/grants.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import type { CountedLayer, Layer } from "../../../shared/protocol.ts";
import { SpareSteps } from "../../../shared/schema/step-budget.ts";
import { needsReveal } from "../../../shared/scopes/hidden-values.ts";
import { applyValueEdits, nestsDeeper, pointerTokens, type ValueEdit } from "../../../shared/value-edit.ts";
import { showPointer, showSteps } from "../../../shared/value-place.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { Store } from "../../store/store.ts";
import type { LayerEdit, RepositoryState } from "../../store/types.ts";
import {
  countedValues,
  isMergedByName,
  type LayerValues,
  layersOf,
  mayHave,
  storedIn,
  withEdits,
} from "../../store/values/counted-values.ts";
import { splitList, type WantedList } from "../../store/values/split-list.ts";
import { isStepped } from "../../store/values/stepped-values.ts";
import type { Caller } from "../keys/caller.ts";
import { plainParts } from "../rights/plain-values.ts";
import { hidesAny, isHidden } from "../rights/reveal.ts";
import { checkReferences, type RuleContext, tiedToHidden } from "../rights/tied-fields.ts";
import {
  noSuchField,
  notInLayer,
  OnlyProposedError,
  onlyWhole,
  untrustedValue,
  unusedValue,
  type ValueSource,
} from "../rights/write-refusals.ts";
import { jsonBytes } from "../socket/measure.ts";

/** A set or unset; the types of its arguments have been checked. */
export interface ConfigChangeRequest {
  readonly repos: readonly string[];
  /** The new values by field (`<scope>.<field>`, as named in the request); undefined to unset. */
  readonly values: ReadonlyMap<string, JsonValue | undefined>;
  /** New values of the local layer, beside those of `values`, which are of `layer`. */
  readonly localValues?: ReadonlyMap<string, JsonValue | undefined> | undefined;
  /** Where `values` and `edits` belong; undefined: each where the value that counts is stored. */
  readonly layer?: Layer | undefined;
  /** What the local layer of a repository once had of a list that is merged by name. See `WantedList`. */
  readonly formerItems?: ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>> | undefined;
  /** Edits inside the values of fields that are not in `values`, also by field. */
  readonly edits?: ReadonlyMap<string, readonly ValueEdit[]>;
  readonly source: Exclude<ValueSource, "edits">;
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

/** The outcome of the request for one repository. */
export interface Decision {
  readonly errors: readonly RepoconfError[];
  /** The edits that apply after the request, whether they change anything or not. */
  readonly accepted: readonly LayerEdit[];
  /** Those of them that make a revision in any case: whether it changes anything would tell the caller what it may not see. */
  readonly recorded: readonly LayerEdit[];
  /** Those of them that change a part of a value of a key without the right to set commands. */
  readonly plain: readonly LayerEdit[];
  /** The layers that get a revision. */
  readonly changed: ReadonlySet<Layer>;
  /** The values of all layers after it, if what counts is not just the shared ones. */
  readonly after?: readonly LayerValues[];
}

/** What a decision is that takes nothing. */
export const nothingAccepted = { accepted: [], recorded: [], plain: [], changed: new Set<never>() } as const;

/** A change of one field of one layer, as requested. */
interface RequestedField {
  readonly path: string;
  readonly layer: Layer;
  readonly value: JsonValue | undefined;
  readonly source: ValueSource;
}

/** A new value, and what tells where the items of a list belong. */
type RequestedList = Pick<RequestedField, "path" | "value"> & Omit<WantedList, "path" | "value">;

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
      return { ...nothingAccepted, errors: [error] };
    }
    const errors: RepoconfError[] = [];
    const edits: LayerEdit[] = [];
    const layers = layersOf(state);
    const spare = new SpareSteps();
    const check = (requested: RequestedField) => {
      const edit = this.#checkField(caller, state, layers, requested, spare);
      if (edit instanceof RepoconfError) errors.push(edit);
      else edits.push(edit);
    };
    const { source } = request;
    const write = (path: string, value: JsonValue | undefined, how: ValueSource, inside?: readonly ValueEdit[]) => {
      const list = { path, value, edits: inside, formerItems: request.formerItems?.get(state.id)?.get(path) };
      const split = request.layer === undefined ? this.#split(caller, state.id, layers, list) : undefined;
      // Whether its format is right is asked of what is new in each layer.
      const all = { path, value, source: how, isNew: false };
      const problem = split && this.#problemOf(caller, state.id, all, spare);
      if (problem !== undefined) errors.push(problem);
      else if (split === undefined)
        check({ path, value, source: how, layer: request.layer ?? this.#layerOf(layers, path) });
      else for (const layer of ["shared", "local"] as const) check({ path, value: split[layer], source: how, layer });
    };
    for (const [path, value] of request.values) write(path, value, source);
    for (const [path, value] of request.localValues ?? []) check({ path, value, source, layer: "local" });
    for (const [path, changes] of request.edits ?? []) {
      const layer = request.layer ?? this.#layerOf(layers, path);
      const value = this.#editedValue(caller, state, layers, layer, path, changes, request);
      if (value instanceof RepoconfError) errors.push(value);
      else write(path, value, "edits", changes);
    }
    const context = { caller, scopes: this.#scopes, repo: state.id, errors };
    const seen = edits.filter(edit => {
      const error = tiedToHidden(context, layers, edit);
      if (error !== undefined) errors.push(error);
      return error === undefined;
    });
    const checked = this.#checked(context, layers, seen, source);
    return { ...checked, plain: plainParts(this.#store.trust, this.#scopes, state, checked.accepted, request.edits) };
  }

  /** Without the edits that break a rule across fields: of the shared layer in its own values, of the local one in what counts then. */
  #checked(
    context: RuleContext,
    layers: readonly LayerValues[],
    edits: readonly LayerEdit[],
    source: ValueSource,
  ): Omit<Decision, "plain"> {
    const { caller, errors } = context;
    const [local, own] = [edits.filter(one => one.layer === "local"), edits.filter(one => one.layer !== "local")];
    const accepted = [...checkReferences(context, storedIn(layers, "shared"), own)];
    if (local.length > 0) {
      const revealed = [...accepted, ...local.map(edit => ({ ...edit, value: undefined }))];
      const counted = countedValues(withEdits(layers, revealed), this.#scopes).stored;
      const whole = checkReferences(context, counted, local);
      accepted.push(...this.#checkMerged(context, layers, [...accepted, ...whole]));
    }
    const before = ({ layer = "shared", scope, field }: LayerEdit) =>
      configValue(storedIn(layers, layer), scope, field);
    const recorded = accepted.filter(edit => {
      const values = [before(edit), edit.value];
      const schema = this.#scopes.field(edit.scope, edit.field)?.schema;
      // What a person takes back tells a key, too, whether what it set was what had been there before.
      const hides = source === "restore" ? needsReveal(schema, ...values) : isHidden(caller, schema, ...values);
      return hides && values.some(value => value !== undefined);
    });
    const isChange = (edit: LayerEdit) => recorded.includes(edit) || !sameJson(before(edit), edit.value);
    const changed = new Set(accepted.filter(isChange).map(({ layer = "shared" }) => layer));
    const isLayered = layers.length > 1 || local.length > 0;
    const isDerived = isLayered || accepted.some(edit => isStepped(layers, edit, this.#scopes));
    return { errors, accepted, recorded, changed, ...(isDerived && { after: withEdits(layers, accepted) }) };
  }

  /** The local edits among these, without lists that cannot be merged with what is below, such as too long ones. */
  #checkMerged(
    { caller, repo, errors }: RuleContext,
    layers: readonly LayerValues[],
    edits: readonly LayerEdit[],
  ): readonly LayerEdit[] {
    const { health } = countedValues(withEdits(layers, edits), this.#scopes);
    return edits.filter(edit => {
      if (edit.layer !== "local") return false;
      // Whether they fit together would tell a key whether it guessed an item of the other layer.
      if (hidesAny(caller, this.#scopes, layers, edit, edit.value)) return true;
      const field = joinConfigPath(edit.scope, edit.field);
      const found = health.find(problem => problem.layer === "local" && problem.field === field);
      const before = configValue(storedIn(layers, "local"), edit.scope, edit.field);
      if (found === undefined || edit.value === undefined || sameJson(before, edit.value)) return true;
      errors.push(new RepoconfError(1103, found.message, { repo, field }));
      return false;
    });
  }

  /** A list of both layers in its two parts; undefined if the value belongs to one layer. */
  #split(caller: Caller, repo: string, layers: readonly LayerValues[], { path, value, ...wanted }: RequestedList) {
    const split = splitConfigPath(path);
    const isShared = this.#layerOf(layers, path) === "shared" && wanted.formerItems === undefined;
    if (split === undefined || isShared || !mayHave("local", split, this.#scopes)) return undefined;
    // Where an item goes depends on the present ones, which the key may not see: then all of it is written to one layer.
    const isSecret = hidesAny(caller, this.#scopes, layers, split);
    const isBoth = isMergedByName(split, this.#scopes) && !isSecret && allows(caller.grants, "write", repo, path);
    return isBoth && Array.isArray(value)
      ? splitList({ ...wanted, path: split, value }, layers, this.#scopes)
      : undefined;
  }

  /** Where the value that counts is stored; the local layer, if that is in the local values of the base, which only the base changes. */
  #layerOf(layers: readonly LayerValues[], path: string): Layer {
    const split = splitConfigPath(path);
    if (split === undefined || !mayHave("local", split, this.#scopes)) return "shared";
    // In the shared layer, a higher value would count than the one that was set.
    if (isStepped(layers, split, this.#scopes)) return "local";
    const isIn = (name: CountedLayer) => configValue(storedIn(layers, name), split.scope, split.field) !== undefined;
    return isIn("local") || isIn("base") ? "local" : "shared";
  }

  /** The field's value after edits inside it; one that a layer does not have starts from the layer below, or from its default. */
  #editedValue(
    caller: Caller,
    { id: repo, stored = {} }: RepositoryState,
    layers: readonly LayerValues[],
    layer: Layer,
    path: string,
    edits: readonly ValueEdit[],
    { layer: asked }: ConfigChangeRequest,
  ): JsonValue | undefined | RepoconfError {
    const split = splitConfigPath(path);
    const schema = split && this.#scopes.field(split.scope, split.field)?.schema;
    const valueIn = (name: CountedLayer) => split && configValue(storedIn(layers, name), split.scope, split.field);
    const isMerged = split !== undefined && layer === "local" && isMergedByName(split, this.#scopes);
    // What counts is split by name again.
    const own = isMerged && asked === undefined ? configValue(stored, split.scope, split.field) : valueIn(layer);
    // Never from a layer above: a private value must not get into the shared one.
    const below = isMerged ? [] : layer === "local" ? (valueIn("base") ?? valueIn("shared")) : undefined;
    const [before = schema?.default] = [own, below].filter(value => value !== undefined);
    // First, because the outcome depends on a value that the key may not see.
    if (!allows(caller.grants, "write", repo, path)) return noSuchField(path, repo);
    if (isHidden(caller, schema, before)) return onlyWhole(path, repo);
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
    layers: readonly LayerValues[],
    { path, layer, value, source }: RequestedField,
    spare: SpareSteps,
  ): LayerEdit | RepoconfError {
    const { id: repo, inTree, base = repo } = state;
    const split = splitConfigPath(path);
    const field = split && this.#scopes.field(split.scope, split.field);
    if (split === undefined || field === undefined || !allows(caller.grants, "write", repo, path))
      return noSuchField(path, repo);
    if (value !== undefined && !mayHave(layer, split, this.#scopes)) return notInLayer(path, repo, layer);
    const unused = unusedValue(state, path, layer, source);
    if (unused !== undefined) return unused;
    const before = configValue(storedIn(layers, layer), split.scope, split.field);
    // What was there before may stay, and come back, also if only its format is wrong.
    const isNew = source !== "restore" && !sameJson(before, value);
    const problem = this.#problemOf(caller, repo, { path, value, source, isNew }, spare);
    if (problem !== undefined) return problem;
    const edit = { ...split, value, ...(layer === "local" && { layer }) };
    const isToldApart = (before !== undefined || value !== undefined) && isHidden(caller, field.schema, before, value);
    if (field.isCommand && !caller.rights.includes("commands") && (isToldApart || !sameJson(before, value)))
      return new OnlyProposedError(repo, path, edit, field.schema);
    const isServed = value === undefined || (!isHidden(caller, field.schema, value) && sameJson(before, value));
    // Unlike a set, a restore brings back values that nobody has reviewed, so it gives no trust. Local values are the person's own.
    const isFree = source !== "restore" || !field.isCommand || isServed || layer === "local";
    const isTrusted = isFree || !inTree || this.#store.trust.has(base, this.#scopes, split, value);
    return isTrusted ? edit : untrustedValue(path, repo);
  }

  /** The error of a value that the field's schema refuses. */
  #problemOf(
    caller: Caller,
    repo: string,
    { path, value, source, isNew }: Omit<RequestedField, "layer"> & { readonly isNew: boolean },
    spare: SpareSteps,
  ): RepoconfError | undefined {
    const split = splitConfigPath(path);
    const field = split && this.#scopes.field(split.scope, split.field);
    const validate = isNew ? field?.validateNew : field?.validate;
    const problem = value === undefined ? undefined : validate?.(value, spare);
    if (value === undefined || field === undefined || problem === undefined) return undefined;
    const { message, path: pointer, rule, given } = problem;
    // A value that the request brought along may be named to it.
    if (source === "restore" && isHidden(caller, field.schema, value))
      return new RepoconfError(1103, `The value of ${path} at that revision is not valid any more.`, {
        repo,
        field: path,
      });
    return new RepoconfError(1103, `${showPointer(path, pointer, value, field.schema)} ${message}.`, {
      repo,
      field: path,
      details: { path: pointer, rule, given },
    });
  }
}

/** The batch's id, different for each key, so that no other key can add to it. Undefined: no batch named, and one repository or a dry run. */
export function batchOf(caller: Caller, { batch, repos, dryRun }: ConfigChangeRequest): string | undefined {
  if (batch !== undefined) return createHash("sha256").update(`${caller.keyId} ${batch}`).digest("hex").slice(0, 24);
  return repos.length > 1 && !dryRun ? randomBytes(12).toString("hex") : undefined;
}
