import { applyConfigEdits, type Config, type ConfigEdit, configEntries, configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { itemNamesOf, nameOf } from "../../../shared/item-names.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import type { CountedLayer, HealthProblem } from "../../../shared/protocol.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { LayerEdit, LayerState, RepositoryState } from "../types.ts";
import { withNewNames } from "./renamed-fields.ts";

/** The active values of one layer. */
export interface LayerValues {
  readonly name: CountedLayer;
  readonly stored: Config;
}

/** What counts over all layers. */
export interface CountedValues {
  readonly stored: Config;
  /** Why values of higher layers do not count. */
  readonly health: readonly HealthProblem[];
}

/**
 * What counts: for each field the value of the topmost layer that has an active one. `layers`: the lowest first. A value of a higher layer
 * that refers to a missing key falls to the layer below; one of a field that is kept to other layers (`x-layers`) does not count.
 */
export function countedValues(layers: readonly LayerValues[], scopes: Scopes): CountedValues {
  const [lowest, ...higher] = layers.map(layer => ({ ...layer, stored: withNewNames(layer.stored, scopes).config }));
  if (lowest === undefined) return { stored: {}, health: [] };
  const health: HealthProblem[] = [];
  let { stored } = lowest;
  for (const { name, stored: own } of higher) {
    const edits: ConfigEdit[] = [];
    for (const edit of configEntries(own)) {
      const { scope, field } = edit;
      if (mayHave(name, edit, scopes))
        edits.push({ ...edit, value: mergedValue(configValue(stored, scope, field), edit, scopes) });
      else if (scopes.field(scope, field) !== undefined) health.push(keptFrom(name, edit));
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
  const counted = configValue(countedValues(layers, scopes).stored, scope, field);
  const isMerged = itemNamesOf(scopes.field(scope, field)?.schema) !== undefined;
  const has = ({ name, stored }: LayerValues) => {
    const value = configValue(stored, scope, field);
    return mayHave(name, { scope, field }, scopes) && value !== undefined && (isMerged || value === counted);
  };
  return counted === undefined ? undefined : layers.findLast(has)?.name;
}

/** Merged lists, by the higher and the lower one; values are never mutated. */
const merged = new WeakMap<object, WeakMap<object, JsonValue>>();

/**
 * What counts of a value above another one: the value, except that a list whose items have names is merged by them, so that one item of
 * one's own does not hide all others.
 */
function mergedValue(below: JsonValue | undefined, { scope, field, value }: ConfigEntry, scopes: Scopes): JsonValue {
  const known = scopes.field(scope, field);
  const names = itemNamesOf(known?.schema);
  const lower = below === undefined ? known?.schema.default : below;
  if (names === undefined || !Array.isArray(lower) || !Array.isArray(value)) return value;
  const cache = merged.get(value) ?? new WeakMap<object, JsonValue>();
  merged.set(value, cache);
  const before = cache.get(lower);
  if (before !== undefined) return before;
  // A valid item has a name; another one is left where it is.
  const own = new Map(value.filter(item => nameOf(item, names) !== undefined).map(item => [nameOf(item, names), item]));
  const there = new Set(lower.flatMap(item => nameOf(item, names) ?? []));
  const replaced = lower.map(item => own.get(nameOf(item, names)) ?? item);
  const all = [...replaced, ...value.filter(item => !there.has(nameOf(item, names) ?? ""))];
  // Such as too many items: then those of the higher layer alone count.
  const counted = known?.validate(all) === undefined ? all : value;
  cache.set(lower, counted);
  return counted;
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

/**
 * Splits a list that counts into those of the two layers: an item goes where its name is, a new one into the shared layer. An item that
 * the base's local values have stays there if it is the same, with the shared one below it, or else becomes a local one. A layer that is
 * left with nothing has no value.
 */
export function splitByName(
  path: ConfigPath,
  value: readonly JsonValue[],
  layers: readonly LayerValues[],
  scopes: Scopes,
): { readonly shared: JsonValue | undefined; readonly local: JsonValue | undefined } {
  const itemsIn = (layer: CountedLayer) => {
    const items = configValue(storedIn(layers, layer), path.scope, path.field);
    const named = itemsNamed(path, items, scopes);
    return new Map(Array.isArray(items) ? items.map((item, index) => [named[index] ?? "", item]) : []);
  };
  const [below, base, own] = [itemsIn("shared"), itemsIn("base"), itemsIn("local")];
  const names = itemsNamed(path, [...value], scopes);
  const local: JsonValue[] = [];
  const shared: JsonValue[] = [];
  for (const [index, item] of value.entries()) {
    const name = names[index] ?? "";
    const kept = base.has(name) ? below.get(name) : undefined;
    if (kept !== undefined) shared.push(kept);
    if (own.has(name) || (base.has(name) && !sameJson(base.get(name), item))) local.push(item);
    else if (!base.has(name)) shared.push(item);
  }
  const isShared = configValue(storedIn(layers, "shared"), path.scope, path.field) !== undefined || shared.length > 0;
  return { shared: isShared ? shared : undefined, local: local.length === 0 ? undefined : local };
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
  for (const { scope, field, target, value } of scopes.brokenReferences(valueAt)) {
    const own = edits.some(edit => edit.scope === scope && edit.field === field);
    const lower: (JsonValue | undefined)[] = own ? [configValue(below, scope, field), undefined] : [undefined];
    for (const instead of lower) {
      stored = applyConfigEdits(stored, [{ scope, field, value: instead }]);
      if (!scopes.isBrokenReference(scope, field, valueAt)) break;
    }
    const path = joinConfigPath(scope, field);
    const message = `${path} refers to "${value}", which is not a key of ${joinConfigPath(scope, target)}; using the value of the layer below.`;
    health.push(problemIn(layer, { code: 1103, message, field: path }));
  }
  return stored;
}

function keptFrom(layer: CountedLayer, { scope, field }: ConfigPath): HealthProblem {
  const path = joinConfigPath(scope, field);
  const message = `${path} is shared with everyone, by its schema (x-layers), so a local value of it is not used. Take it out${layer === "base" ? ", in the main work tree" : ""}: repoconf unset ${path} --local`;
  return problemIn(layer, { code: 1103, message, field: path });
}

/** A problem of a layer, which it names. */
export function problemIn(layer: CountedLayer, problem: HealthProblem): HealthProblem {
  if (layer === "shared") return problem;
  const whose = layer === "base" ? "Local values of the main work tree" : "Local values";
  return { ...problem, message: `${whose}: ${problem.message}`, layer };
}

/** The active values of layers. */
export function valuesOf(layers: readonly LayerState[]): LayerValues[] {
  return layers.map(({ name, state }) => ({ name, stored: state.stored ?? {} }));
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
  return all.map(({ name, stored }) => {
    const own = edits.filter(({ layer = "shared" }) => layer === name);
    return { name, stored: own.length === 0 ? stored : applyConfigEdits(stored, own) };
  });
}
