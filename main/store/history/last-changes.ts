import { joinConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { Turn } from "../../time/yielding.ts";
import type { LastChange, RecordedChange } from "../types.ts";
import { historyFrom, type RecordedDocument } from "./repository-history.ts";

interface Index {
  /** By `<scope>.<field>`. */
  readonly changes: Map<string, LastChange>;
  /** The last revision that is included. */
  revision: number;
  /** Resolves when the history has been read. */
  readonly read: Promise<void>;
}

/** The last change of a field, `<scope>.<field>`; undefined if the kept history has none. Throws RepoconfError 1110 if the history is damaged there. */
type LastChangeOf = (path: string) => LastChange | undefined;

/**
 * The last change of each field: read from the history at the first request, updated with each later change, and dropped with the
 * repository's values once it was not used for long. It contains no values, so there is nothing to forget.
 */
export class LastChanges {
  readonly #indexes = new WeakMap<RecordedDocument, Index>();

  /** Throws RepoconfError 1108. */
  async of(repository: RecordedDocument, turn: Turn): Promise<LastChangeOf> {
    let index = this.#indexes.get(repository);
    if (index?.revision !== repository.state.revision) {
      index = begin(repository, turn);
      this.#indexes.set(repository, index);
    }
    const { changes } = index;
    let damage: RepoconfError | undefined;
    try {
      await index.read;
    } catch (error) {
      if (this.#indexes.get(repository) === index) this.#indexes.delete(repository);
      if (!(error instanceof RepoconfError) || error.code !== 1110) throw error;
      damage = error;
    }
    return path => {
      const change = changes.get(path);
      // Changes that are newer than the damage are still known.
      if (change === undefined && damage !== undefined) throw damage;
      return change !== undefined && change.revision > repository.oldest ? change : undefined;
    };
  }

  /** Adds a revision that has become visible. */
  note(repository: RecordedDocument | undefined, change: RecordedChange): void {
    const index = repository && this.#indexes.get(repository);
    // After a gap, the index is read again at the next request.
    if (index === undefined || change.revision !== index.revision + 1 || change.source === "recovery") return;
    index.revision = change.revision;
    addTo(index.changes, change, true);
  }
}

function begin(repository: RecordedDocument, turn: Turn): Index {
  const { revision } = repository.state;
  const changes = new Map<string, LastChange>();
  const readAll = async () => {
    for await (const record of historyFrom(repository, revision, turn)) {
      if (record.kind !== "change") continue;
      // What it changed is not known.
      if (record.source === "recovery") return;
      // Changes noted meanwhile are newer.
      addTo(changes, record, false);
    }
  };
  return { changes, revision, read: readAll() };
}

function addTo(known: Map<string, LastChange>, change: RecordedChange, isNewer: boolean): void {
  const { revision, time, actor, source, reason } = change;
  const last: LastChange = { revision, time, actor, source, ...(reason !== undefined && { reason }) };
  for (const { scope, field } of change.changes) {
    const path = joinConfigPath(scope, field);
    if (isNewer || !known.has(path)) known.set(path, last);
  }
}
