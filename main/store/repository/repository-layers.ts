import { applyConfigEdits, type Config, configValue, countConfigFields } from "../../../shared/config.ts";
import { editsBefore } from "../../../shared/config-diff.ts";
import type { ConfigPath } from "../../../shared/config-path.ts";
import { sameJson } from "../../../shared/json.ts";
import type { CountedLayer, ExplainedLayer, Explanation } from "../../../shared/protocol.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { StoreContext } from "../context.ts";
import {
  countedChange,
  isSameEntry,
  LayeredHistory,
  type LayerHistory,
  type RecordedJournal,
  revisionOf,
} from "../history/layered-history.ts";
import { numberIn } from "../log/commit-log.ts";
import type { ContextEvent } from "../state/repository-context.ts";
import type { IndexedRepository } from "../state/repository-index.ts";
import type {
  LayerState,
  Position,
  RecordedChange,
  RepositoryState,
  RepositorySummary,
  StoreEvent,
  ValueSource,
} from "../types.ts";
import { countedValues, countingLayer, layersOf, problemIn, valuesOf } from "../values/counted-values.ts";
import { addedByStep, withoutRaisedDefaults } from "../values/stepped-values.ts";
import type { DocumentAbove } from "./parts.ts";

/** The document of a layer. See `Repository`. */
interface LayerDocument {
  readonly own: RepositoryState;
  readonly recorded: Config;
  readonly journal: LayerHistory["journal"];
}

/** What counts over the layers of one repository. */
export class RepositoryLayers {
  readonly #context: StoreContext;
  /** `state`, made from the states `of` by the scopes with the defaults `by`. */
  #counted:
    | { readonly of: readonly RepositoryState[]; readonly by: object; readonly state: RepositoryState }
    | undefined;

  #summary: { readonly of: RepositoryState; readonly summary: RepositorySummary } | undefined;

  /** The last change that was told of one of the layers. */
  #told: RecordedChange | undefined;

  constructor(context: StoreContext) {
    this.#context = context;
  }

  /** The state that counts; the same object as long as the layers' are. `own`: of the lowest layer. */
  stateOf(own: RepositoryState, above: readonly DocumentAbove<LayerDocument>[]): RepositoryState {
    const of = [own, ...above.map(({ document }) => document.own)];
    const by = this.#context.scopes.defaults;
    const known = this.#counted;
    if (known?.by === by && known.of.length === of.length && of.every((state, index) => state === known.of[index]))
      return known.state;
    const state = this.#combine(layersAbove(own, above));
    this.#counted = { of, by, state };
    return state;
  }

  /** What lists of repositories tell of a state; once its files are read, the same object as long as the state is. */
  summaryOf(state: RepositoryState, indexed: IndexedRepository | undefined, isLoaded: boolean): RepositorySummary {
    if (isLoaded && this.#summary?.of === state) return this.#summary.summary;
    const { stored, broken: _, position: __, layers, ...info } = state;
    const counted = stored && withoutRaisedDefaults(stored, layersOf(state), this.#context.scopes);
    const modified = counted === undefined ? (indexed?.modified ?? 0) : countConfigFields(counted);
    const summary = { ...info, modified, ...(layers && !isLoaded && indexed?.counted) };
    if (isLoaded) this.#summary = { of: state, summary };
    return summary;
  }

  /** The history of all layers, as they are now. */
  history(own: LayerDocument, above: readonly DocumentAbove<LayerDocument>[]): RecordedJournal {
    const layers = [{ name: "shared" as const, document: own }, ...above].map(({ name, document }) => ({
      ...{ name, revision: document.own.revision, values: document.recorded, slot: document.own.linked?.slot },
      journal: document.journal,
    }));
    return new LayeredHistory(layers, this.#context.scopes);
  }

  /** An event of a layer's document, as one of the repository; undefined if it does not concern it. `own`: of the lowest layer. */
  translate(
    event: ContextEvent,
    own: RepositoryState,
    above: readonly DocumentAbove<LayerDocument>[],
  ): StoreEvent | undefined {
    const present = layersAbove(own, above);
    const index = present.findIndex(({ state }) => state.id === event.state.id);
    const layer = present[index];
    if (layer === undefined || (index > 0 && event.kind === "updated")) return undefined;
    const withState = (state: RepositoryState) => present.with(index, { ...layer, state });
    const state = this.#combine(withState(event.state));
    if (event.kind === "updated") return { ...event, state };
    if (event.kind === "health") {
      const before = this.#combine(withState({ ...event.state, health: event.before })).health;
      return sameJson(before, state.health) ? undefined : { ...event, state, before };
    }
    const { change } = event;
    const stored = applyConfigEdits(event.state.stored ?? {}, editsBefore(change.changes));
    const [before, after] = [valuesOf(withState({ ...event.state, stored })), valuesOf(withState(event.state))];
    const { changes, own: ofLayer } = countedChange(index, change.changes, before, after, this.#context.scopes);
    const { revision } = state;
    const isSame = this.#told !== undefined && isSameEntry(this.#told, change);
    this.#told = change;
    const counted = { ...change, revision, changes, ofLayer: { layer: layer.name, ...ofLayer } };
    return { ...event, state, change: isSame ? { ...counted, together: revision - 1 } : counted };
  }

  #combine(layers: readonly LayerState[]): RepositoryState {
    const [lowest] = layers;
    if (lowest === undefined) throw new Error("a repository has at least one layer");
    const { stored, health } = countedValues(valuesOf(layers), this.#context.scopes);
    const own = layers.flatMap(({ name, state }) => state.health.map(problem => problemIn(name, problem)));
    return {
      ...lowest.state,
      revision: revisionOf(layers.map(({ state }) => state.revision)),
      position: this.#latest(layers.map(({ state }) => state.position)),
      stored: lowest.state.stored && stored,
      health: [...own, ...health],
      layers,
    };
  }

  /** Undefined if one of them is not known. */
  #latest(positions: readonly (Position | undefined)[]): Position | undefined {
    if (positions.includes(undefined)) return undefined;
    const numberOf = (position: Position | undefined) => numberIn(this.#context.log.id, position);
    return positions.reduce((latest, one) => (numberOf(one) > numberOf(latest) ? one : latest));
  }
}

function layersAbove(own: RepositoryState, above: readonly DocumentAbove<LayerDocument>[]): readonly LayerState[] {
  // A layer that has not begun has no position yet.
  const states = above.map(({ name, document }) => ({
    name,
    state: document.own.revision === 0 ? { ...document.own, position: own.position } : document.own,
  }));
  return [{ name: "shared", state: own }, ...states];
}

interface ExplainedDocument {
  isFromFile(scope: string, field: string): boolean;
  source(path: ConfigPath, inside: string): Promise<ValueSource>;
}

/**
 * Where the value of a field that counts comes from, and the values of all layers, the one that counts first. `inside`: the place in the
 * value whose position in the file is told; undefined: none is. `base`: the name of the repository that it is a worktree of.
 */
export async function explainLayers(
  repository: ExplainedDocument & {
    readonly state: RepositoryState;
    readonly above: readonly DocumentAbove<ExplainedDocument>[];
  },
  path: ConfigPath,
  inside: string | undefined,
  scopes: Scopes,
  base: string | undefined,
): Promise<Pick<Explanation, "origin" | "layer" | "of" | "layers" | "step" | "file" | "line" | "column">> {
  const { state, above } = repository;
  const layers = layersOf(state);
  const documentOf = (layer: CountedLayer | undefined) =>
    above.find(({ name }) => name === layer)?.document ?? repository;
  const sourceIn = (layer: CountedLayer | undefined) =>
    inside === undefined ? undefined : documentOf(layer).source(path, inside);
  const nameOf = (layer: CountedLayer | undefined) => (layer === "base" && base !== undefined ? { of: base } : {});
  const counting = countingLayer(layers, path, scopes);
  const added = addedByStep(layers, path, scopes);
  const explained: ExplainedLayer[] = [];
  for (const { name: layer, stored } of layers.toReversed()) {
    const value = configValue(stored, path.scope, path.field);
    if (value !== undefined) explained.push({ layer, ...nameOf(layer), value, ...(await sourceIn(layer)) });
  }
  const isLastGood = !documentOf(counting).isFromFile(path.scope, path.field);
  return {
    origin: counting === undefined ? "default" : isLastGood ? "lastGood" : "stored",
    ...(await sourceIn(counting)),
    ...(counting !== undefined && counting !== "shared" && { layer: counting, ...nameOf(counting) }),
    ...(added !== undefined && { step: added }),
    ...(layers.length > 1 && { layers: explained }),
  };
}
