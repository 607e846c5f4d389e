import { joinConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { endlessTurn, type Turn } from "../yielding.ts";
import type { Repository } from "./repository.ts";
import { historyFrom } from "./repository-history.ts";
import type { LastChange, RecordedChange } from "./store.ts";

/** The fields of all repositories together of which the last change is kept in memory, some 100 bytes each. */
const mostFields = 50_000;

interface Index {
  readonly repository: Repository;
  /** By `<scope>.<field>`. */
  readonly changes: Map<string, LastChange>;
  /** Up to which all is told. */
  revision: number;
  /** Resolves when the history has been read. */
  readonly read: Promise<void>;
  /** How many of its fields are in the count of all. */
  counted: number;
}

/** When a field, `<scope>.<field>`, changed last. Undefined: never, as far as is kept. Throws RepoconfError 1110 where a damaged history does not tell. */
export type LastChangeOf = (path: string) => LastChange | undefined;

/**
 * When each field of a repository changed last: read from the history at the first request, and updated with each change from then on.
 * It has no values, so there is nothing to erase. For repositories that nobody asked about for long, and for those that are closed, it
 * is dropped and can be read again.
 */
export class LastChanges {
  /** By repository's id; the one that was asked about last comes last. */
  readonly #indexes = new Map<string, Index>();
  /** Fields of all of them. */
  #counted = 0;

  /** Throws RepoconfError 1108. */
  async of(repository: Repository, turn: Turn = endlessTurn): Promise<LastChangeOf> {
    let index = this.#known(repository);
    if (index === undefined) {
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
      // What is newer than the damage is told.
      if (change === undefined && damage !== undefined) throw damage;
      return change !== undefined && change.revision > repository.oldest ? change : undefined;
    };
  }

  /** A revision is visible, and nobody has asked since. */
  note(id: string, change: RecordedChange): void {
    const index = this.#indexes.get(id);
    // One that does not follow: it is read anew at the next question.
    if (index === undefined || change.revision !== index.revision + 1) return;
    index.revision = change.revision;
    addTo(index.changes, change, true);
  }

  drop(id: string): void {
    const index = this.#indexes.get(id);
    if (index !== undefined) this.#forget(index);
  }

  #forget(index: Index): void {
    const { id } = index.repository;
    // Another one may have taken its place.
    if (this.#indexes.get(id) !== index) return;
    this.#indexes.delete(id);
    this.#counted -= index.counted;
    index.counted = 0;
  }

  #known(repository: Repository): Index | undefined {
    const index = this.#indexes.get(repository.id);
    return index?.repository === repository && index.revision === repository.state.revision ? index : undefined;
  }

  #begin(repository: Repository, turn: Turn): Index {
    const { revision } = repository.state;
    const changes = new Map<string, LastChange>();
    const readAll = async () => {
      // What came meanwhile is newer.
      for await (const record of historyFrom(repository, revision, turn))
        if (record.kind === "change") addTo(changes, record, false);
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
