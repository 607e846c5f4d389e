import { applyConfigEdits, type Config, type ConfigEdit, configEntries, configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { itemNamesOf, nameOf } from "../../../shared/item-names.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { CountedLayer, HealthProblem } from "../../../shared/protocol.ts";
import { needsReveal } from "../../../shared/scopes/hidden-values.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { LayerEdit, LayerState, RepositoryState } from "../types.ts";
import { withNewNames } from "./renamed-fields.ts";
import { withSteps } from "./stepped-values.ts";

/** The active values of one layer. */
export interface LayerValues {
  readonly name: CountedLayer;
  readonly stored: Config;
  /** Of the lowest layer of a linked worktree: the number by which the values of some fields are higher (`x-step`). */
  readonly slot?: number | undefined;
}

/** What counts over all layers. */
export interface CountedValues {
  readonly stored: Config;
  /** Why values of higher layers do not count. */
  readonly health: readonly HealthProblem[];
}

/**
 * What counts: for each field the value of the topmost layer that has an active one. `layers`: the lowest first. A value of a higher layer
 * that refers to a missing key, or cannot be merged with the one below, falls to the layer below (see `MergedValue`); one of a field that is
 * kept to other layers (`x-layers`) does not count. What a linked worktree inherits is higher by its slot (`x-step`), also a default.
 */
export function countedValues(layers: readonly LayerValues[], scopes: Scopes): CountedValues {
  const { stored, health } = valuesInLayers(layers, scopes);
  const stepped = withSteps(stored, layers, scopes);
  return { stored: stepped.stored, health: [...health, ...stepped.health] };
}

/** `countedValues`, as if a linked worktree were the main work tree. */
function valuesInLayers(layers: readonly LayerValues[], scopes: Scopes): CountedValues {
  const [lowest, ...higher] = layers.map(layer => ({ ...layer, stored: withNewNames(layer.stored, scopes).config }));
  if (lowest === undefined) return { stored: {}, health: [] };
  const health: HealthProblem[] = [];
  let { stored } = lowest;
  for (const { name, stored: own } of higher) {
    const edits: ConfigEdit[] = [];
    for (const edit of configEntries(own)) {
      const { scope, field } = edit;
      const outcome = mergedValue(configValue(stored, scope, field), edit, scopes);
      if (!mayHave(name, edit, scopes)) {
        if (scopes.field(scope, field) !== undefined) health.push(keptFrom(name, edit));
        continue;
      }
      const { value, problem } = outcome;
      if (problem !== undefined) health.push(notTogether(name, edit, problem, value !== undefined));
      if (value !== undefined) edits.push({ ...edit, value });
    }
    if (edits.length > 0) stored = withReferences(stored, applyConfigEdits(stored, edits), edits, scopes, name, health);
  }
  return { stored, health };
}

/** Whether a value of a field counts in a layer. */
export function mayHave(layer: CountedLayer, { scope, field }: ConfigPath, scopes: Scopes): boolean {
  const schema = scopes.field(scope, field)?.schema;
  const kind = layer === "base" ? "local" : layer;
  return schema !== undefined && (schema["x-layers"] ?? [kind]).includes(kind);
}

/** The layer whose value of a field counts; undefined if that is the default. */
export function countingLayer(
  layers: readonly LayerValues[],
  { scope, field }: ConfigPath,
  scopes: Scopes,
): CountedLayer | undefined {
  const counted = configValue(valuesInLayers(layers, scopes).stored, scope, field);
  const isMerged = itemNamesOf(scopes.field(scope, field)?.schema) !== undefined;
  const has = ({ name, stored }: LayerValues, index: number) => {
    const value = configValue(stored, scope, field);
    if (!mayHave(name, { scope, field }, scopes) || value === undefined) return false;
    if (!isMerged || !Array.isArray(value) || index === 0) return isMerged || value === counted;
    // A list that could not be merged with the one below does not count.
    const below = configValue(valuesInLayers(layers.slice(0, index), scopes).stored, scope, field);
    return mergedValue(below, { scope, field, value }, scopes).value !== undefined;
  };
  return counted === undefined ? undefined : layers.findLast(has)?.name;
}

/**
 * A list as it counts, and which rule about all items the merged one breaks, such as their number. Then the one below counts, except where
 * some keys may not see one of both: what counts, and what is masked, would tell them whether they guessed an item of the other layer.
 */
interface MergedValue {
  /** Undefined: the one below counts. */
  readonly value?: JsonValue;
  readonly problem?: string;
}

/** Merged lists of a field, by the higher and the lower one; values are never mutated. */
const merged = new WeakMap<object, WeakMap<object, WeakMap<object, MergedValue>>>();

/**
 * What counts of a value above another one: the value, except that a list whose items have names is merged by them, so that one item of
 * one's own does not hide all others.
 */
function mergedValue(below: JsonValue | undefined, { scope, field, value }: ConfigEntry, scopes: Scopes): MergedValue {
  const known = scopes.field(scope, field);
  const names = itemNamesOf(known?.schema);
  const lower = below === undefined ? known?.schema.default : below;
  if (known === undefined || names === undefined || !Array.isArray(lower) || !Array.isArray(value)) return { value };
  // Another schema makes another field.
  const ofField = merged.get(known) ?? new WeakMap<object, WeakMap<object, MergedValue>>();
  merged.set(known, ofField);
  const cache = ofField.get(value) ?? new WeakMap<object, MergedValue>();
  ofField.set(value, cache);
  const before = cache.get(lower);
  if (before !== undefined) return before;
  // A valid item has a name; another one is left where it is.
  const own = new Map(value.filter(item => nameOf(item, names) !== undefined).map(item => [nameOf(item, names), item]));
  const there = new Set(lower.flatMap(item => nameOf(item, names) ?? []));
  const replaced = lower.map(item => own.get(nameOf(item, names)) ?? item);
  const all = [...replaced, ...value.filter(item => !there.has(nameOf(item, names) ?? ""))];
  // Each is valid, but both together may be too long.
  const problem = known.validate(all)?.message;
  const counts = problem === undefined || needsReveal(known.schema, lower, value);
  const outcome = { ...(counts && { value: all }), ...(problem !== undefined && { problem }) };
  cache.set(lower, outcome);
  return outcome;
}

type ConfigEntry = ConfigPath & { readonly value: JsonValue };

/** Whether a list is merged by the names of its items. */
export function isMergedByName(path: ConfigPath, scopes: Scopes): boolean {
  return itemNamesOf(scopes.field(path.scope, path.field)?.schema) !== undefined;
}

/** The names of the items of a list, as texts. */
export function itemsNamed(path: ConfigPath, value: JsonValue | undefined, scopes: Scopes): readonly string[] {
  const names = itemNamesOf(scopes.field(path.scope, path.field)?.schema);
  return names === undefined || !Array.isArray(value) ? [] : value.map(item => nameOf(item, names) ?? "");
}

/** The values without those that break a reference which was whole before a layer. */
function withReferences(
  below: Config,
  counted: Config,
  edits: readonly ConfigEdit[],
  scopes: Scopes,
  layer: CountedLayer,
  health: HealthProblem[],
): Config {
  let stored = counted;
  const valueAt = (scope: string, field: string) => configValue(stored, scope, field);
  for (const { scope, field, target, shown } of scopes.brokenReferences(valueAt)) {
    const own = edits.some(edit => edit.scope === scope && edit.field === field);
    const lower: (JsonValue | undefined)[] = own ? [configValue(below, scope, field), undefined] : [undefined];
    for (const instead of lower) {
      stored = applyConfigEdits(stored, [{ scope, field, value: instead }]);
      if (!scopes.isBrokenReference(scope, field, valueAt)) break;
    }
    const path = joinConfigPath(scope, field);
    const message = `${path} refers to ${shown}, which is not a key of ${joinConfigPath(scope, target)}; using the value of the layer below.`;
    health.push(problemIn(layer, { code: 1103, message, field: path }));
  }
  return stored;
}

function keptFrom(layer: CountedLayer, { scope, field }: ConfigPath): HealthProblem {
  const path = joinConfigPath(scope, field);
  const message = `${path} is shared with everyone, by its schema (x-layers), so a local value of it is not used. Take it out${layer === "base" ? ", in the main work tree" : ""}: repoconf unset ${path} --local`;
  return problemIn(layer, { code: 1103, message, field: path });
}

function notTogether(
  layer: CountedLayer,
  { scope, field }: ConfigPath,
  problem: string,
  counts: boolean,
): HealthProblem {
  const path = joinConfigPath(scope, field);
  const used = counts ? "it is used all the same" : "using only the items below";
  const message = `${path}, merged with the items of the layer below, ${problem}; ${used}. Take some out${layer === "base" ? ", in the main work tree" : ""}: repoconf edit ${path} --local`;
  return problemIn(layer, { code: counts ? 1115 : 1103, message, field: path });
}

/** A problem of a layer, which it names. */
export function problemIn(layer: CountedLayer, problem: HealthProblem): HealthProblem {
  if (layer === "shared") return problem;
  const whose = layer === "base" ? "Local values of the main work tree" : "Local values";
  return { ...problem, message: `${whose}: ${problem.message}`, layer };
}

/** The active values of layers. */
export function valuesOf(layers: readonly LayerState[]): LayerValues[] {
  return layers.map(({ name, state }) => ({ name, stored: state.stored ?? {}, slot: state.linked?.slot }));
}

/** The active values of each layer, the lowest first. */
export function layersOf({
  layers,
  stored = {},
}: Partial<Pick<RepositoryState, "layers" | "stored">>): readonly LayerValues[] {
  return layers === undefined ? [{ name: "shared", stored }] : valuesOf(layers);
}

/** The values of a layer. */
export function storedIn(layers: readonly LayerValues[], layer: CountedLayer): Config {
  return layers.find(({ name }) => name === layer)?.stored ?? {};
}

/** The layers after edits, which may add the local one. */
export function withEdits(layers: readonly LayerValues[], edits: readonly LayerEdit[]): readonly LayerValues[] {
  const isAdded = !layers.some(({ name }) => name === "local") && edits.some(({ layer }) => layer === "local");
  const all: readonly LayerValues[] = isAdded ? [...layers, { name: "local", stored: {} }] : layers;
  return all.map(one => {
    const own = edits.filter(({ layer = "shared" }) => layer === one.name);
    return own.length === 0 ? one : { ...one, stored: applyConfigEdits(one.stored, own) };
  });
}
