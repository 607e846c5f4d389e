import { joinConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { Turn } from "../../time/yielding.ts";
import type { LastChange, RecordedChange } from "../types.ts";
import { historyFrom, type RecordedRepository } from "./repository-history.ts";

/** The maximum of fields, over all repositories, whose last change is kept in memory, at about 100 bytes each. */
const mostFields = 50_000;

interface Index {
  readonly repository: RecordedRepository;
  /** By `<scope>.<field>`. */
  readonly changes: Map<string, LastChange>;
  /** The last revision that is included. */
  revision: number;
  /** Resolves when the history has been read. */
  readonly read: Promise<void>;
  /** How many of its fields are included in the total. */
  counted: number;
}

/** The last change of a field, `<scope>.<field>`; undefined if the kept history has none. Throws RepoconfError 1110 if the history is damaged there. */
type LastChangeOf = (path: string) => LastChange | undefined;

/**
 * The last change of each field: read from the history at the first request, and updated with each later change. It contains no values,
 * so there is nothing to forget. What was not requested for long is dropped and can be read again.
 */
export class LastChanges {
  /** By repository id, the most recently used one last. */
  readonly #indexes = new Map<string, Index>();
  /** The total number of fields. */
  #counted = 0;

  /** Throws RepoconfError 1108. */
  async of(repository: RecordedRepository, turn: Turn): Promise<LastChangeOf> {
    let index = this.#indexes.get(repository.id);
    if (index?.repository !== repository || index.revision !== repository.state.revision) {
      this.drop(repository.id);
      index = this.#begin(repository, turn);
    } else this.#indexes.delete(repository.id);
    this.#indexes.set(repository.id, index);
    const { changes } = index;
    let damage: RepoconfError | undefined;
    try {
      await index.read;
    } catch (error) {
      this.#forget(index);
      if (!(error instanceof RepoconfError) || error.code !== 1110) throw error;
      damage = error;
    }
    this.#dropOldest(index);
    return path => {
      const change = changes.get(path);
      // Changes that are newer than the damage are still known.
      if (change === undefined && damage !== undefined) throw damage;
      return change !== undefined && change.revision > repository.oldest ? change : undefined;
    };
  }

  /** Adds a revision that has become visible. */
  note(id: string, change: RecordedChange): void {
    const index = this.#indexes.get(id);
    // After a gap, the index is read again at the next request.
    if (index === undefined || change.revision !== index.revision + 1 || change.source === "recovery") return;
    index.revision = change.revision;
    addTo(index.changes, change, true);
  }

  drop(id: string): void {
    const index = this.#indexes.get(id);
    if (index !== undefined) this.#forget(index);
  }

  #forget(index: Index): void {
    const { id } = index.repository;
    // It may have been replaced meanwhile.
    if (this.#indexes.get(id) !== index) return;
    this.#indexes.delete(id);
    this.#counted -= index.counted;
    index.counted = 0;
  }

  #begin(repository: RecordedRepository, turn: Turn): Index {
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
    return { repository, changes, revision, read: readAll(), counted: 0 };
  }

  #dropOldest(read: Index): void {
    if (this.#indexes.get(read.repository.id) !== read) return;
    this.#counted += read.changes.size - read.counted;
    read.counted = read.changes.size;
    for (const index of this.#indexes.values()) {
      if (this.#counted <= mostFields) return;
      this.#forget(index);
    }
  }
}

function addTo(known: Map<string, LastChange>, change: RecordedChange, isNewer: boolean): void {
  const { revision, time, actor, source, reason } = change;
  const last: LastChange = { revision, time, actor, source, ...(reason !== undefined && { reason }) };
  for (const { scope, field } of change.changes) {
    const path = joinConfigPath(scope, field);
    if (isNewer || !known.has(path)) known.set(path, last);
  }
}
