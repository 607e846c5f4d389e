import { changedSince, isFromFile } from "../../../../shared/change-source.ts";
import { type ConfigPath, joinConfigPath } from "../../../../shared/config-path.ts";
import { RepoconfError } from "../../../../shared/errors.ts";
import { allows } from "../../../../shared/grants.ts";
import { type JsonValue, sameJson } from "../../../../shared/json.ts";
import type { CountedLayer, Layer } from "../../../../shared/protocol.ts";
import type { Scopes } from "../../../scopes/scopes.ts";
import type { RecordedChange, RecordedDifference, RepositoryState } from "../../../store/types.ts";
import { type LayerValues, layersOf, storedIn } from "../../../store/values/counted-values.ts";
import { valueByAnyName } from "../../../store/values/renamed-fields.ts";
import type { Caller } from "../../keys/caller.ts";
import { isHidden } from "../../rights/reveal.ts";
import { forgottenValue } from "../../rights/write-refusals.ts";

/** Which revisions of a repository are to be taken back. */
export interface WantedUndo {
  readonly caller: Caller;
  readonly revisions: ReadonlySet<number>;
  /** `<scope>.<field>`; undefined: all that they changed. */
  readonly fields: ReadonlySet<string> | undefined;
  readonly layer: Layer | undefined;
  /** What git has checked out in the work tree now; undefined if that is not known. */
  readonly head: string | undefined;
}

/** A value of one layer as it was before the revisions; undefined if none was stored. */
export interface RestoredField {
  readonly layer: Layer;
  readonly path: string;
  readonly value: JsonValue | undefined;
}

/** Decides what taking back revisions restores. It gets the history record by record, the newest first. Pure. */
export class UndoPlan {
  readonly #wanted: WantedUndo;
  readonly #state: RepositoryState;
  readonly #scopes: Scopes;
  readonly #layers: readonly LayerValues[];
  /** By layer and field. */
  readonly #restored = new Map<string, RestoredField>();
  readonly #left = new Map<string, RepoconfError>();
  /** What was changed after the next record, and is not taken back. */
  readonly #later = new Set<string>();
  readonly #found = new Set<number>();
  /** Revisions of another file than the present one, or perhaps of another, and the fields of the newest one. */
  readonly #ofOtherFile: number[] = [];
  #otherFields: readonly string[] = [];
  #cameWithFile = false;

  constructor(wanted: WantedUndo, state: RepositoryState, scopes: Scopes) {
    this.#wanted = wanted;
    this.#state = state;
    this.#scopes = scopes;
    this.#layers = layersOf(state);
  }

  /** Whether every wanted revision was added. */
  get isComplete(): boolean {
    return this.#found.size === this.#wanted.revisions.size;
  }

  get restored(): readonly RestoredField[] {
    return [...this.#restored.values()];
  }

  /** What is not taken back, and why. */
  get left(): readonly RepoconfError[] {
    const { id: repo, revision: current } = this.#state;
    const missing = [...this.#wanted.revisions].filter(revision => !this.#found.has(revision));
    return [
      ...missing.map(revision => {
        const message = `Revision ${revision} is not in the history, or no longer.`;
        return new RepoconfError(revision > current ? 1112 : 1110, message, { repo, details: { current } });
      }),
      ...(this.#ofOtherFile.length > 0 ? [this.#otherFile()] : []),
      // If a newer change of it is taken back, an older one is what somebody else changed in between.
      ...[...this.#left].flatMap(([key, error]) => (this.#restored.has(key) ? [] : error)),
    ];
  }

  /** The next older record. */
  add(record: RecordedChange): void {
    const { revision, head } = record;
    const { layer, changes } = record.ofLayer ?? { layer: "shared" as const, changes: record.changes };
    const isInTree = layer === "shared" && this.#state.inTree;
    if (!this.#wanted.revisions.has(revision)) this.#pass(layer, changes);
    else {
      this.#found.add(revision);
      const isMeant = this.#wanted.layer === undefined || layer === this.#wanted.layer;
      // What came with the file since may be another branch's, even where it has the same values.
      const isSameFile = !isInTree || !this.#cameWithFile || (head !== undefined && head === this.#wanted.head);
      // The base's are taken back there.
      if (layer === "base" || !isMeant) this.#pass(layer, changes);
      else if (isSameFile) for (const change of changes) this.#takeBack(layer, change, revision);
      else {
        this.#pass(layer, changes);
        if (this.#ofOtherFile.length === 0) this.#otherFields = this.#readable(changes);
        this.#ofOtherFile.push(revision);
      }
    }
    if (isInTree && (isFromFile(record) || record.source === "recovery")) this.#cameWithFile = true;
  }

  #pass(layer: CountedLayer, changes: readonly RecordedDifference[]): void {
    for (const change of changes) this.#later.add(this.#keyOf(layer, change));
  }

  #takeBack(layer: Layer, change: RecordedDifference, revision: number): void {
    const { caller, fields } = this.#wanted;
    const { id: repo } = this.#state;
    const { before, after } = change;
    const split = this.#todaysName(change);
    const path = joinConfigPath(split.scope, split.field);
    const key = this.#keyOf(layer, change);
    const isMeant = fields === undefined || fields.has(path) || fields.has(joinConfigPath(change.scope, change.field));
    if (!isMeant || !allows(caller.grants, "read", repo, path)) return;
    const known = this.#restored.get(key);
    const now = known ? known.value : valueByAnyName(storedIn(this.#layers, layer), split, this.#scopes);
    const schema = this.#scopes.field(split.scope, split.field)?.schema;
    // Whether a value that the key may not see is still there is told by what was changed, never by what it is.
    const isThere = isHidden(caller, schema, now, before, after) ? !this.#later.has(key) : sameJson(now, after);
    if (isThere && !change.forgotten) this.#restored.set(key, { layer, path, value: before });
    else {
      this.#later.add(key);
      const error = change.forgotten
        ? forgottenValue(path, repo, revision - 1)
        : new RepoconfError(1104, changedSince, { repo, field: path });
      if (!this.#left.has(key)) this.#left.set(key, error);
    }
  }

  #otherFile(): RepoconfError {
    const { id: repo } = this.#state;
    const [newest = 0, ...others] = this.#ofOtherFile;
    const which = others.length === 0 ? `revision ${newest}` : `revisions ${this.#ofOtherFile.join(", ")}`;
    const one = others.length === 0 ? "was" : "were";
    const why =
      this.#wanted.head === undefined
        ? `git does not tell whether that is the file of the branch that ${which} ${one} made on`
        : `${which} ${one} made while another branch was checked out, or it is not known which one`;
    const fields = this.#otherFields.length > 3 ? "" : this.#otherFields.map(path => ` ${path}`).join("");
    const message = `The work tree's file has come from outside since, and ${why}. To go back all the same, after a preview: repoconf restore ${newest - 1}${fields} --repo ${repo} --dry-run`;
    return new RepoconfError(1104, message, { repo });
  }

  #readable(changes: readonly RecordedDifference[]): readonly string[] {
    const { caller } = this.#wanted;
    const paths = changes.map(({ scope, field }) => joinConfigPath(scope, field));
    return paths.filter(path => allows(caller.grants, "read", this.#state.id, path));
  }

  #todaysName({ scope, field }: ConfigPath): ConfigPath {
    return { scope, field: this.#scopes.newName(scope, field) ?? field };
  }

  #keyOf(layer: CountedLayer, change: ConfigPath): string {
    const { scope, field } = this.#todaysName(change);
    return `${layer} ${joinConfigPath(scope, field)}`;
  }
}
