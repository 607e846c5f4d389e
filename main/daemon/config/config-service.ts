import { type Config, configValue, countConfigFields, filterConfig } from "../../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { allows, allowsEveryField } from "../../../shared/grants.ts";
import { sameJson } from "../../../shared/json.ts";
import type {
  ConfigChanged,
  ExplainedLayer,
  Explanation,
  HistoryEntry,
  ProgressMessage,
  Reply,
  RepositoryEntry,
} from "../../../shared/protocol.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { configAt, historyFrom } from "../../store/history/repository-history.ts";
import { ofBase } from "../../store/mirror/repository-metadata.ts";
import { explainLayers } from "../../store/repository/repository-layers.ts";
import type { Store } from "../../store/store.ts";
import type { LastChange, RecordedChange, RepositoryInfo, RepositoryState, StoreEvent } from "../../store/types.ts";
import { layersOf } from "../../store/values/counted-values.ts";
import { isForgotten, withNewNames } from "../../store/values/renamed-fields.ts";
import { withoutRaisedDefaults } from "../../store/values/stepped-values.ts";
import type { Turn, Yielding } from "../../time/yielding.ts";
import type { Caller } from "../keys/caller.ts";
import { isHidden, maySeeReason, type Shown, seesEverything, shownConfig, visibleError } from "../rights/reveal.ts";
import { actorName, isOwnChange, viewChange, viewRecord } from "./change-views.ts";
import {
  brokenFile,
  ConfigViews,
  isThere,
  isWithin,
  type ListRequest,
  narrow,
  type RequestedPath,
  readableConfig,
  readableHealth,
  requestedPath,
  unknownField,
} from "./config-views.ts";

/** A last change as the caller may see it. */
type LastChangeSeen = Omit<LastChange, "actor" | "paths" | "hasReference"> & { readonly actor: string };

/** Returns repositories and their configuration as a caller may see them. Knows the store, but no transport. */
export class ConfigService {
  readonly #store: Store;
  readonly #scopes: Scopes;
  readonly #views: ConfigViews;
  readonly #yielding: Yielding;

  constructor(store: Store, scopes: Scopes, yielding: Yielding) {
    this.#store = store;
    this.#scopes = scopes;
    this.#views = new ConfigViews(scopes);
    this.#yielding = yielding;
  }

  /** Spec 4.1. `isShared`: callers that see the same get the same object. Throws RepoconfError 1011, 1102, 1106, 1110 or 1112. */
  async list(caller: Caller, request: ListRequest): Promise<Shown & { revision: number; isShared: boolean }> {
    const { repo, revision } = request;
    this.#assertVisible(caller, repo);
    const state = this.#store.repositories.peek(repo) ?? (await this.#store.repositories.read(repo));
    if (state === undefined) throw unknownRepository(repo);
    const readable = this.#views.readable(state, caller.grants);
    if (Object.keys(readable).length === 0) throw unknownRepository(repo);
    const path = requestedPath(request);
    if (path !== undefined && !isThere(readable, path)) throw unknownField(path, this.#newNameOf(path, readable));
    if (state.stored === undefined) throw visibleError(caller, brokenFile(state));
    const isMeant = (masked: string) => path === undefined || isWithin(masked, path);
    if (revision !== undefined && revision !== state.revision) {
      const past = await this.#listPast(caller, repo, revision, request.stored === true);
      const { config, masked } = shownConfig(past, caller, this.#scopes);
      const narrowed = path === undefined ? config : narrow(config, path);
      return { config: narrowed, masked: masked.filter(isMeant), revision, isShared: false };
    }
    const shown = this.#views.shown(state, caller);
    const { config, masked } = request.stored
      ? shownConfig(readableConfig(storedOf(state, this.#scopes), repo, caller.grants), caller, this.#scopes)
      : shown;
    // Both are the same objects as long as the state and the grants are.
    const isShared = config === shown.config || config === state.stored;
    const answer = { revision: state.revision, masked: masked.filter(isMeant), isShared };
    if (path === undefined) return { ...answer, config };
    if (isShared && path.scope !== undefined && path.field === undefined)
      return { ...answer, config: this.#views.scopeOf(config, path.scope) };
    return { ...answer, config: narrow(config, path), isShared: false };
  }

  /** The current name (`<scope>.<field>`) of a renamed field, if the caller may read it. */
  #newNameOf({ scope = "", field = "" }: RequestedPath, readable: Config): string | undefined {
    const name = this.#scopes.newName(scope, field);
    return name !== undefined && isThere(readable, { scope, field: name }) ? joinConfigPath(scope, name) : undefined;
  }

  /** The values at that revision, with the current schemas and defaults; erased values are omitted. */
  async #listPast(caller: Caller, repo: string, revision: number, stored: boolean): Promise<Config> {
    const repository = await this.#store.repositories.load(repo);
    const past = await configAt(repository, revision, this.#scopes, this.#yielding.begin(caller.keyId));
    const named = withNewNames(stored ? past.stored : past.config, this.#scopes).config;
    const known = filterConfig(named, (scope, field) => this.#scopes.field(scope, field) !== undefined);
    const config = filterConfig(
      stored ? known : this.#scopes.effective(known),
      (scope, field) => !isForgotten(past, { scope, field }, this.#scopes),
    );
    return readableConfig(config, repo, caller.grants);
  }

  /**
   * Where a field's value comes from (docs/protocol.md, "explain"); `inside`: the place in it that is told, a JSON pointer. Throws
   * RepoconfError 1011, 1102 or 1106.
   */
  async explain(caller: Caller, repo: string, path: string, inside: string): Promise<Explanation> {
    const { config, masked } = await this.list(caller, { repo, field: path });
    const split = splitConfigPath(path);
    const repository = this.#store.repositories.require(repo);
    const { stored: all = {}, base } = await repository.read();
    const isMasked = masked.length > 0;
    const value = split && configValue(config, split.scope, split.field);
    if (split === undefined || (value === undefined && !isMasked)) throw unknownRepository(repo);
    const stored = configValue(all, split.scope, split.field);
    const { name = base } = (base !== undefined && this.#store.repositories.brief(base)) || {};
    // Only the owner may know where the home is.
    const place = caller.owner ? inside : undefined;
    const { layers, step, ...explained } = await explainLayers(repository, split, place, this.#scopes, name);
    const schema = this.#scopes.field(split.scope, split.field)?.schema;
    const change = (await this.lastChanges(caller, repo))(path);
    return {
      ...(isMasked || value === undefined
        ? { value: null, default: null, masked: true }
        : {
            value,
            default: configValue(this.#scopes.defaults, split.scope, split.field) ?? null,
            ...(stored !== undefined && explained.origin !== "default" && { stored }),
            ...(step !== undefined && { step }),
          }),
      ...explained,
      ...(layers && { layers: layers.map(one => shownLayer(caller, one, schema)) }),
      ...change,
    };
  }

  /**
   * The last change of each field that the caller may read. Undefined: it never changed, or the change is older than the kept
   * history. Throws RepoconfError 1102 or 1108.
   */
  async lastChanges(
    caller: Caller,
    repo: string,
    turn: Turn = this.#yielding.begin(caller.keyId),
  ): Promise<(path: string) => LastChangeSeen | undefined> {
    const lastChange = await this.#store.lastChanges.of(await this.#store.repositories.load(repo), turn);
    return path => {
      try {
        const found = allows(caller.grants, "read", repo, path) ? lastChange(path) : undefined;
        if (found === undefined) return undefined;
        const { paths: _, hasReference: __, reason, ...change } = found;
        const isSeen = isOwnChange(caller, change.actor) || maySeeReason(caller, repo, found, this.#scopes);
        const why = isSeen && reason !== undefined && { reason };
        return { ...change, ...why, actor: actorName(caller, change.actor) };
      } catch (error) {
        // A damaged journal has been reported; the rest of the answer is still correct.
        if (!(error instanceof RepoconfError) || error.code !== 1110) throw error;
      }
      return undefined;
    };
  }

  /** The stored values of each layer that the caller may see, who may list them, and the fields that one of them has and it may not see. */
  async readLayers(
    caller: Caller,
    repo: string,
  ): Promise<{ readonly layers: NonNullable<Reply["layers"]>; readonly masked: string[] }> {
    const layers = layersOf((await this.#store.repositories.read(repo)) ?? {});
    const seen = layers.map(({ name, stored }) => ({
      ...{ name, ...shownConfig(readableConfig(stored, repo, caller.grants), caller, this.#scopes) },
    }));
    const byName = Object.fromEntries(seen.map(({ name, config }) => [name, config]));
    return { layers: { shared: {}, ...byName }, masked: seen.flatMap(({ masked }) => masked) };
  }

  /** The fields whose values wait for trust: in the current file for the owner, who may see it, else as of the repository's health. */
  async waiting(caller: Caller, repo: string): Promise<readonly string[]> {
    if (!caller.owner) {
      const health = (await this.entry(caller, repo))?.health ?? [];
      return health.flatMap(({ code, field }) => (code === 1114 && field !== undefined ? [field] : []));
    }
    const waiting = await this.#store.repositories.require(repo).waiting();
    return waiting.map(({ scope, field }) => joinConfigPath(scope, field));
  }

  /**
   * The repositories in which the caller may read something, sorted by id: those after `after`, or only `repo`. A limited key's
   * counts need the values, so repositories are read one by one, as the caller of this function asks for them.
   */
  async *repositories(
    caller: Caller,
    { repo, after }: { readonly repo?: string | undefined; readonly after?: string | undefined },
    turn: Turn = this.#yielding.begin(caller.keyId),
  ): AsyncGenerator<RepositoryEntry> {
    await this.#store.reconciled;
    for (const id of repo === undefined ? await this.#store.ids() : [repo]) {
      if (after && id <= after) continue;
      if (turn.isOver) await turn.pass();
      const entry = await this.entry(caller, id);
      if (entry !== undefined) yield entry;
    }
  }

  /** Like `repositories`, but without counts, so no values are read. */
  async visible(caller: Caller): Promise<readonly Pick<RepositoryEntry, "id" | "name" | "path">[]> {
    const ids = (await this.#store.ids()).filter(id => this.canSee(caller, id));
    return ids.flatMap(id => this.#store.repositories.brief(id) ?? []);
  }

  /** Whether the caller may read anything in the repository; if not, the repository does not exist for it. */
  canSee(caller: Caller, repo: string): boolean {
    if (allowsEveryField(caller.grants, "read", repo)) return true;
    for (const path of this.#scopes.paths()) if (allows(caller.grants, "read", repo, path)) return true;
    return false;
  }

  /** A repository's state as the caller may see it; undefined if it may see nothing of it. */
  view(caller: Caller, state: RepositoryState | RepositoryInfo): RepositoryEntry | undefined {
    if (!this.canSee(caller, state.id)) return undefined;
    const { id, name, path, inTree, favourite, revision } = state;
    const stored = "stored" in state && state.stored ? storedOf(state, this.#scopes) : undefined;
    const modified = stored === undefined ? 0 : countConfigFields(readableConfig(stored, id, caller.grants));
    const health = readableHealth(caller, id, state.health, this.#scopes);
    const place = { ...(path !== undefined && { path }), inTree, ...ofBase(state), ...(favourite && { favourite }) };
    return this.#withFindings(caller, { id, name, ...place, revision, modified, health });
  }

  /** With what was found, for the owner only: it names files in the home. */
  #withFindings<Entry extends RepositoryEntry>(caller: Caller, entry: Entry): Entry {
    const found = caller.owner ? this.#store.findings.healthOf(entry.id) : [];
    return found.length === 0 ? entry : { ...entry, health: [...entry.health, ...found] };
  }

  /** The repository of an event as the caller may see it; undefined if the event is not visible to it. */
  viewEntry(caller: Caller, event: Exclude<StoreEvent, { kind: "changed" }>): RepositoryEntry | undefined {
    if (event.kind === "found") return caller.owner ? this.#withFindings(caller, event.state) : undefined;
    const entry = this.view(caller, event.state);
    if (entry === undefined || event.kind !== "health" || caller.owner) return entry;
    return sameJson(entry.health, readableHealth(caller, entry.id, event.before, this.#scopes)) ? undefined : entry;
  }

  /** A change as the caller may see it; undefined if it touches nothing that the caller may read. */
  viewChange(caller: Caller, repo: string, change: RecordedChange): ConfigChanged | undefined {
    return viewChange(caller, repo, change, this.#scopes);
  }

  /** The progress of a repository for a caller who cannot see the change itself; undefined if the caller may not see the repository. */
  viewProgress(
    caller: Caller,
    repo: string,
    revision: number,
    where: { readonly position?: string } = {},
  ): ProgressMessage | undefined {
    return this.canSee(caller, repo) ? ["config", "progress", { repo, revision, ...where }] : undefined;
  }

  /** A repository's history as the caller may see it, newest first. Throws RepoconfError 1011, 1102 or 1110. */
  async *history(caller: Caller, repo: string, from: number, path?: string): AsyncGenerator<HistoryEntry> {
    await this.#assertReadable(caller, repo, path);
    const repository = await this.#store.repositories.load(repo);
    for await (const record of historyFrom(repository, from, this.#yielding.begin(caller.keyId))) {
      const entry = viewRecord(caller, repo, record, path, this.#scopes);
      if (entry !== undefined) yield entry;
    }
  }

  /** Checked before anything is read: the time that reading takes would reveal that a repository exists. */
  #assertVisible(caller: Caller, repo: string): void {
    if (!this.canSee(caller, repo)) throw unknownRepository(repo);
  }

  async #assertReadable(caller: Caller, repo: string, path: string | undefined): Promise<void> {
    this.#assertVisible(caller, repo);
    const state = await this.#store.repositories.read(repo);
    const readable = state === undefined ? {} : this.#views.readable(state, caller.grants);
    if (Object.keys(readable).length === 0) throw unknownRepository(repo);
    const wanted = path === undefined ? undefined : requestedPath({ repo, field: path });
    if (wanted !== undefined && !isThere(readable, wanted)) throw unknownField(wanted);
  }

  /** Undefined if the caller may read nothing in the repository. */
  async entry(caller: Caller, id: string): Promise<RepositoryEntry | undefined> {
    const summary = this.#store.repositories.summary(id);
    if (summary === undefined || !this.canSee(caller, id)) return undefined;
    if (seesEverything(caller, id)) return this.#withFindings(caller, summary);
    // Counts must not reveal fields that the key may not read, so the values are needed.
    const state = await this.#store.repositories.read(id);
    return state && this.view(caller, state);
  }
}

/** What counts and is stored. */
function storedOf(state: RepositoryState, scopes: Scopes): Config {
  return withoutRaisedDefaults(state.stored ?? {}, layersOf(state), scopes);
}

/** A layer's value of a field, as the caller may see it. */
function shownLayer(caller: Caller, layer: ExplainedLayer, schema: FieldSchema | undefined): ExplainedLayer {
  return isHidden(caller, schema, layer.value) ? { ...layer, value: null, masked: true } : layer;
}

export function unknownRepository(repo: string): RepoconfError {
  return new RepoconfError(
    1102,
    `There is no repository "${repo}" that this key may read. To list all repositories: repo/list.`,
    { repo },
  );
}
