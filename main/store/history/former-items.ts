import { type ConfigPath, joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { canonicalJson, type JsonValue } from "../../../shared/json.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { Turn } from "../../time/yielding.ts";
import { isMergedByName } from "../values/counted-values.ts";
import { allRecords, type RecordedLayer } from "./repository-history.ts";

/** By a layer's state, which a change replaces, and field. */
const known = new WeakMap<object, Map<string, ReadonlySet<string>>>();

/** See `Repository`. */
interface LayeredRepository {
  readonly above: readonly unknown[];
  readonly recordedLayers: readonly RecordedLayer[];
  load(): Promise<void>;
}

/** By repository and field, in canonical JSON. */
type FormerItems = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/**
 * What lists, which are set as a whole, have ever had in the layers above the shared ones, as far as their histories tell. Undefined
 * without lists that are merged by name in repositories with such layers.
 */
export function formerItems(
  repositories: { get(id: string): LayeredRepository | undefined },
  repos: readonly string[],
  values: ReadonlyMap<string, JsonValue | undefined>,
  { scopes, turn }: { readonly scopes: Scopes; readonly turn: Turn },
): Promise<FormerItems> | undefined {
  const lists = [...values].flatMap(([path, value]) => (Array.isArray(value) ? (splitConfigPath(path) ?? []) : []));
  const merged = lists.filter(path => isMergedByName(path, scopes));
  const layered = repos.flatMap(repo => {
    const repository = repositories.get(repo);
    return repository === undefined || repository.above.length === 0 ? [] : [[repo, repository] as const];
  });
  return merged.length === 0 || layered.length === 0 ? undefined : readAll(layered, merged, scopes, turn);
}

async function readAll(
  layered: readonly (readonly [repo: string, LayeredRepository])[],
  merged: readonly ConfigPath[],
  scopes: Scopes,
  turn: Turn,
): Promise<FormerItems> {
  const all = new Map<string, ReadonlyMap<string, ReadonlySet<string>>>();
  for (const [repo, repository] of layered) {
    // One that cannot be read refuses the change.
    await repository.load().catch(() => {});
    const layers = repository.recordedLayers.filter(({ name }) => name !== "shared");
    const own = new Map<string, ReadonlySet<string>>();
    for (const path of merged) {
      const items: string[] = [];
      for (const layer of layers) items.push(...(await itemsOf(layer, path, scopes, turn)));
      own.set(joinConfigPath(path.scope, path.field), new Set(items));
    }
    all.set(repo, own);
  }
  return all;
}

async function itemsOf({ document }: RecordedLayer, path: ConfigPath, scopes: Scopes, turn: Turn) {
  const ofState = known.get(document.state) ?? new Map<string, ReadonlySet<string>>();
  known.set(document.state, ofState);
  const name = joinConfigPath(path.scope, path.field);
  const before = ofState.get(name);
  if (before !== undefined) return before;
  const names = new Set(scopes.namesOf(path).map(({ scope, field }) => joinConfigPath(scope, field)));
  const items = new Set<string>();
  const add = (list: JsonValue | undefined) => {
    if (Array.isArray(list)) for (const item of list) items.add(canonicalJson(item));
  };
  try {
    for await (const record of allRecords(document, turn)) {
      if (record.kind !== "change") continue;
      for (const { scope, field, before: was, after } of record.changes)
        if (names.has(joinConfigPath(scope, field))) for (const list of [was, after]) add(list);
    }
  } catch (error) {
    // What cannot be read is not known.
    if (!(error instanceof RepoconfError)) throw error;
    return items;
  }
  ofState.set(name, items);
  return items;
}
