import { configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { allows } from "../../../shared/grants.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import type { ChangedRepository, CountedLayer, DescribedValue, Layer } from "../../../shared/protocol.ts";
import type { ValueEdit } from "../../../shared/value-edit.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { formerItems } from "../../store/history/former-items.ts";
import { layersAt } from "../../store/history/repository-history.ts";
import { changeTogether } from "../../store/repository/commit-together.ts";
import type { Store } from "../../store/store.ts";
import type { Applied, ChangeRequest, Mirrored } from "../../store/types.ts";
import {
  countedValues,
  countingLayer,
  isMergedByName,
  itemsNamed,
  layersOf,
  storedIn,
} from "../../store/values/counted-values.ts";
import { isForgotten, valueByAnyName } from "../../store/values/renamed-fields.ts";
import { addedByStep } from "../../store/values/stepped-values.ts";
import type { Yielding } from "../../time/yielding.ts";
import type { Caller } from "../keys/caller.ts";
import { roomOf, secretsSince } from "../rights/guesses.ts";
import type { Proposals } from "../rights/proposals.ts";
import { isHidden } from "../rights/reveal.ts";
import type { RevisionBudget, RevisionClaim } from "../rights/revision-budget.ts";
import {
  asRequestError,
  forgottenValue,
  mayWriteIn,
  noSuchField,
  notWritable,
  OnlyProposedError,
} from "../rights/write-refusals.ts";
import { batchOf, ChangeCheck, type ConfigChangeRequest, type Decision, nothingAccepted } from "./change-check.ts";

/** A restore; the types of its arguments have been checked. */
export interface RestoreRequest
  extends Pick<ConfigChangeRequest, "revisions" | "atomic" | "dryRun" | "reason" | "flush" | "batch"> {
  readonly repo: string;
  /** The revision to restore. */
  readonly to: number;
  /** Undefined: every field that the caller may write and that differs. */
  readonly fields: readonly string[] | undefined;
  /** Undefined: every layer. */
  readonly layer: Layer | undefined;
}

interface RestoredValue {
  readonly name: Layer;
  readonly value: JsonValue | undefined;
  readonly differs: boolean;
}

export interface ConfigChangeResult {
  readonly result: readonly ChangedRepository[];
  readonly errors: readonly RepoconfError[];
}

/** Writes configuration: rights, schemas, rules across fields, compare and set (spec 4.2; docs/protocol.md, "set"). */
export class ConfigChanges {
  readonly #store: Store;
  readonly #scopes: Scopes;
  readonly #check: ChangeCheck;
  readonly #proposals: Pick<Proposals, "put">;
  readonly #budget: RevisionBudget;
  readonly #yielding: Yielding;

  constructor(
    store: Store,
    scopes: Scopes,
    proposals: Pick<Proposals, "put">,
    budget: RevisionBudget,
    yielding: Yielding,
  ) {
    this.#yielding = yielding;
    this.#store = store;
    this.#budget = budget;
    this.#proposals = proposals;
    this.#scopes = scopes;
    this.#check = new ChangeCheck(store, scopes);
  }

  async run(caller: Caller, request: ConfigChangeRequest): Promise<ConfigChangeResult> {
    const writable = request.repos.filter(repo => this.#canWrite(caller, repo));
    const errors = request.repos.filter(repo => !writable.includes(repo)).map(notWritable);
    if (writable.length === 0) return { result: [], errors };

    const { values, localValues = new Map(), edits = new Map<string, readonly ValueEdit[]>() } = request;
    const named = new Set([...values.keys(), ...localValues.keys(), ...edits.keys()]);
    const missing = new Set([...named].filter(path => !this.#exists(caller, path, writable)));
    for (const path of missing) errors.push(this.#missingField(caller, path, writable));
    const known = <Change>(all: ReadonlyMap<string, Change>) =>
      new Map([...all].filter(([path]) => !missing.has(path)));
    const changes = { values: known(values), localValues: known(localValues), edits: known(edits) };
    const lists = request.layer === undefined ? changes.values : new Map();
    const turn = this.#yielding.begin(caller.keyId);
    // Without such a list nothing waits, so that a change is decided before what the same client sends next.
    const reading = formerItems(this.#store.repositories, writable, lists, { scopes: this.#scopes, turn });
    const rest = { ...request, ...changes, formerItems: reading && (await reading), batch: batchOf(caller, request) };

    if (!request.atomic) {
      const outcomes = await Promise.all(writable.map(repo => this.#changeOne(caller, repo, rest)));
      errors.push(...outcomes.flatMap(outcome => outcome.errors));
      return {
        result: outcomes.flatMap(({ entry }) => entry ?? []),
        errors: request.dryRun ? errors : await this.#propose(caller, errors, request),
      };
    }
    // Checked first, so that the answer has every error and not only the first one.
    const rehearsal = await Promise.all(writable.map(repo => this.#changeOne(caller, repo, { ...rest, dryRun: true })));
    errors.push(...rehearsal.flatMap(outcome => outcome.errors));
    // Nothing is set, but what is only not allowed is proposed.
    const mayPropose = !request.dryRun && errors.every(error => error instanceof OnlyProposedError);
    if (errors.length > 0)
      return { result: [], errors: mayPropose ? await this.#propose(caller, errors, request) : errors };
    if (request.dryRun) return { result: rehearsal.flatMap(({ entry }) => entry ?? []), errors };
    return this.#changeTogether(caller, writable, rest);
  }

  /**
   * Restores the stored values that fields had at a revision; unsets those that had none. Each layer gets its own values, or only the one
   * that is named: no value gets from one into another. Throws RepoconfError 1110 or 1112.
   */
  async restore(caller: Caller, { repo, to, fields, layer, ...options }: RestoreRequest): Promise<ConfigChangeResult> {
    if (!this.#canWrite(caller, repo)) return { result: [], errors: [notWritable(repo)] };
    const repository = await this.#store.repositories.load(repo);
    const turn = this.#yielding.begin(caller.keyId);
    const pasts = await layersAt(repository, to, turn);
    const setSince = await secretsSince(repository, to, this.#scopes, turn);
    const state = await this.#store.repositories.read(repo);
    const presents = state === undefined ? [] : layersOf(state);
    const valueIn = (layers: typeof presents, name: CountedLayer, split: ConfigPath) =>
      configValue(storedIn(layers, name), split.scope, split.field);
    const isSecret = (split: ConfigPath, ...values: readonly (JsonValue | undefined)[]) =>
      isHidden(caller, this.#scopes.field(split.scope, split.field)?.schema, ...values);
    // Without names, whether a value differs decides whether it is restored, which would tell a key what it may not see.
    const masked: string[] = [];
    const mayCompare = (path: string) => {
      const split = splitConfigPath(path);
      if (split === undefined) return true;
      const values = pasts.flatMap(({ name, config }) => [
        valueByAnyName(config, split, this.#scopes),
        valueIn(presents, name, split),
      ]);
      const hides = isSecret(split, ...values);
      if (hides && fields === undefined && values.some(value => value !== undefined)) masked.push(path);
      return !hides;
    };
    const all = [...this.#scopes.paths()].filter(
      path => allows(caller.grants, "write", repo, path) && mayCompare(path),
    );
    const passedOver = new Set<string>();
    const errors: RepoconfError[] = [];
    const restored: Record<Layer, Map<string, JsonValue | undefined>> = { shared: new Map(), local: new Map() };
    for (const path of fields ?? all) {
      const split = splitConfigPath(path);
      const isReachable = allows(caller.grants, "write", repo, path);
      const candidates: RestoredValue[] = [];
      for (const past of pasts) {
        const { name, config } = past;
        // The base's are changed by the base alone.
        if (name === "base" || (layer !== undefined && name !== layer)) continue;
        const value = split && valueByAnyName(config, split, this.#scopes);
        const now = split && valueIn(presents, name, split);
        // To a key that may not see them, they are never the same.
        const isSet = split !== undefined && (value !== undefined || now !== undefined);
        const isTold = isSet && (isSecret(split, value, now) || setSince.has(`${name} ${path}`));
        // If the request names such a field, it is an error; otherwise the field is skipped and listed in the result.
        if (split === undefined || !isForgotten(past, split, this.#scopes))
          candidates.push({ name, value, differs: split === undefined || isTold || !sameJson(value, now) });
        else if (fields === undefined) passedOver.add(path);
        else if (isReachable) errors.push(forgottenValue(path, repo, to));
      }
      const differing = candidates.filter(({ differs }) => differs);
      // A field that is named is in the answer.
      const unchanged = fields === undefined ? [] : candidates.slice(0, 1);
      for (const { name, value } of differing.length > 0 ? differing : unchanged) restored[name].set(path, value);
    }
    if (errors.length > 0 && options.atomic) return { result: [], errors };
    const { shared: values, local: localValues } = restored;
    const done = await this.run(caller, {
      ...options,
      repos: [repo],
      values,
      layer: "shared",
      localValues,
      source: "restore",
      mayBeEmpty: fields === undefined && values.size + localValues.size === 0,
    });
    const forgotten = [...passedOver];
    const leftOut = { ...(forgotten.length > 0 && { forgotten }), ...(masked.length > 0 && { masked }) };
    const result = done.result.map(entry => ({ ...entry, ...leftOut }));
    return { result, errors: [...errors, ...done.errors] };
  }

  /** Keeps what the key may only propose. Returns the errors, those of proposals with their ids. */
  async #propose(
    caller: Caller,
    errors: readonly RepoconfError[],
    { source, reason }: Pick<ConfigChangeRequest, "source" | "reason">,
  ): Promise<readonly RepoconfError[]> {
    const refused = errors.filter(error => error instanceof OnlyProposedError);
    if (refused.length === 0) return errors;
    const wanted = refused.map(({ repo = "", field = "", edit: { value, layer } }) => ({
      ...{ repo, field },
      ...(layer === "local" && { layer }),
      ...(value !== undefined && { value }),
      ...(reason !== undefined && { reason }),
      ...(source === "restore" && { restored: true as const }),
    }));
    const kept = await this.#proposals.put(caller, wanted, (repo, bytes) =>
      this.#budget.takeProposal(caller, repo, bytes),
    );
    return errors.map(error => {
      const outcome = error instanceof OnlyProposedError ? kept[refused.indexOf(error)] : undefined;
      if (outcome === undefined || outcome instanceof RepoconfError) return outcome ?? error;
      return error instanceof OnlyProposedError ? error.proposedAs(outcome.id) : error;
    });
  }

  async #changeOne(
    caller: Caller,
    repo: string,
    request: ConfigChangeRequest,
  ): Promise<{ entry?: ChangedRepository; errors: readonly RepoconfError[] }> {
    const claim = this.#budget.claim(caller);
    try {
      const repository = this.#store.repositories.require(repo);
      const applied = await repository.change(this.#changeRequest(caller, request, claim));
      const entry = this.#entry(caller, applied, request);
      return { ...(entry !== undefined && { entry }), errors: applied.answer.errors };
    } catch (error) {
      claim.release();
      return { errors: [asRequestError(caller, error, repo)] };
    }
  }

  async #changeTogether(
    caller: Caller,
    repos: readonly string[],
    request: ConfigChangeRequest,
  ): Promise<ConfigChangeResult> {
    const claim = this.#budget.claim(caller);
    try {
      const change = this.#changeRequest(caller, request, claim);
      const outcomes = await changeTogether(this.#store.repositories, this.#store.log, repos, change);
      const applied = repos.flatMap(repo => outcomes.get(repo) ?? []);
      const errors = applied.flatMap(({ answer }) => answer.errors);
      if (errors.length > 0) claim.release();
      return {
        result: errors.length > 0 ? [] : applied.flatMap(one => this.#entry(caller, one, request) ?? []),
        errors,
      };
    } catch (error) {
      claim.release();
      return { result: [], errors: [asRequestError(caller, error, undefined)] };
    }
  }

  #changeRequest(caller: Caller, request: ConfigChangeRequest, claim: RevisionClaim): ChangeRequest<Decision> {
    const { source, reason, atomic, dryRun, flush, batch, layer, localValues } = request;
    return {
      actor: caller.actor,
      layer: localValues !== undefined && localValues.size > 0 ? "local" : layer,
      trusts: caller.rights.includes("commands"),
      source,
      flush: flush && !dryRun,
      isTrial: dryRun,
      room: roomOf(caller, this.#scopes),
      ...(reason !== undefined && { reason }),
      ...(batch !== undefined && { batch }),
      decide: state => {
        const decision = this.#check.decide(caller, state, request);
        if (atomic && decision.errors.length > 0) return { edits: undefined, answer: decision };
        const refusal = dryRun ? undefined : claim.take(state, decision);
        if (refusal !== undefined) {
          const refused = { ...nothingAccepted, errors: [...decision.errors, refusal] };
          return { edits: atomic ? undefined : [], answer: refused };
        }
        const { accepted, recorded, plain } = decision;
        return { edits: accepted, recorded, plain, answer: decision };
      },
    };
  }

  #entry(
    caller: Caller,
    { state, answer, mirrored }: Applied<Decision>,
    request: ConfigChangeRequest,
  ): ChangedRepository | undefined {
    // A restore of the current values has nothing to set, which is no error.
    const nothingToDo = request.mayBeEmpty === true && answer.errors.length === 0;
    if (answer.accepted.length === 0 && !nothingToDo) return undefined;
    const config: { [scope: string]: { [field: string]: DescribedValue } } = {};
    const after = answer.after && { layers: answer.after, counted: countedValues(answer.after, this.#scopes).stored };
    for (const { scope, field, value, layer = "shared" } of answer.accepted) {
      const schema = this.#scopes.field(scope, field)?.schema;
      const fields = config[scope] ?? {};
      config[scope] = fields;
      const isMerged = (after?.layers.length ?? 0) > 1 && isMergedByName({ scope, field }, this.#scopes);
      const counted = after && configValue(after.counted, scope, field);
      const now = value === undefined || isMerged ? counted : value;
      const own = after && configValue(storedIn(after.layers, "local"), scope, field);
      // A set only gives back what the request brought along, and a default.
      const isBrought = request.source !== "restore" && !isMerged && (value !== undefined || now === undefined);
      const isMasked = !isBrought && isHidden(caller, schema, now, own);
      const localItems = isMerged && !isMasked ? itemsNamed({ scope, field }, own, this.#scopes) : [];
      const counting = after && countingLayer(after.layers, { scope, field }, this.#scopes);
      const shown = now === undefined ? (schema?.default ?? null) : now;
      const isTold = value !== undefined && !isMasked && counting === layer;
      const step = isTold ? addedByStep(after?.layers ?? [], { scope, field }, this.#scopes) : undefined;
      fields[field] = {
        ...(isMasked ? { value: null, masked: true as const } : { value: shown }),
        description: schema?.description ?? schema?.title ?? "",
        ...(layer === "local" && !isMerged && { layer }),
        ...(layer === "shared" && counting !== layer && counting && !isMerged && { shadowedBy: counting }),
        ...(localItems.length > 0 && { localItems }),
        ...(step !== undefined && counted !== undefined && { counts: counted }),
      };
    }
    const revision = request.dryRun ? state.revision + answer.changed.size : state.revision;
    const batch = request.batch === undefined ? {} : { batch: request.batch };
    return { repo: state.id, revision, config, ...batch, ...viewMirrored(mirrored) };
  }

  #canWrite(caller: Caller, repo: string): boolean {
    return mayWriteIn(caller, repo, this.#store, this.#scopes);
  }

  /** If the field was renamed, the message names the new one, provided that the caller may write it. */
  #missingField(caller: Caller, path: string, repos: readonly string[]): RepoconfError {
    const split = splitConfigPath(path);
    const name = split && this.#scopes.newName(split.scope, split.field);
    const renamed = split === undefined || name === undefined ? undefined : joinConfigPath(split.scope, name);
    const isReachable = renamed !== undefined && this.#exists(caller, renamed, repos);
    return noSuchField(path, undefined, isReachable ? ` It is now called "${renamed}".` : undefined);
  }

  /** Whether the field exists for this caller: one that it may write in none of the repositories is treated as missing. */
  #exists(caller: Caller, path: string, repos: readonly string[]): boolean {
    const split = splitConfigPath(path);
    if (split === undefined || this.#scopes.field(split.scope, split.field) === undefined) return false;
    return repos.some(repo => allows(caller.grants, "write", repo, path));
  }
}

function viewMirrored(mirrored: Mirrored | undefined): Pick<ChangedRepository, "mirrored" | "mirrorProblem"> {
  if (mirrored === undefined) return {};
  return mirrored === true ? { mirrored } : { mirrored: false, mirrorProblem: mirrored };
}
