import { joinConfigPath } from "../../../shared/config-path.ts";
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
}

/**
 * When each field of a repository changed last: read from the history when somebody asks first, and kept up with each change
 * from then on. No values are in it, so there is nothing to be forgotten. Of repositories nobody asked about for long, and of those
 * that are let go, it is dropped and can be read again.
 */
export class LastChanges {
  /** By repository's id; the one that was asked about last comes last. */
  readonly #indexes = new Map<string, Index>();

  /** Undefined: it never changed, as far as the history is kept. Throws RepoconfError 1108, or 1110 where that is damaged before it tells. */
  async of(repository: Repository, path: string, turn: Turn = endlessTurn): Promise<LastChange | undefined> {
    let index = this.#known(repository);
    if (index === undefined) {
      index = this.#begin(repository, turn);
      this.#indexes.set(repository.id, index);
    } else {
      this.#indexes.delete(repository.id);
      this.#indexes.set(repository.id, index);
    }
    try {
      await index.read;
    } catch (error) {
      if (this.#indexes.get(repository.id) === index) this.#indexes.delete(repository.id);
      // What is newer than the damage is told.
      if (!index.changes.has(path)) throw error;
    }
    this.#dropOldest();
    const change = index.changes.get(path);
    return change !== undefined && change.revision > repository.oldest ? change : undefined;
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
    this.#indexes.delete(id);
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
    return { repository, changes, revision, read: readAll() };
  }

  #dropOldest(): void {
    let fields = 0;
    for (const { changes } of this.#indexes.values()) fields += changes.size;
    for (const [id, { changes }] of this.#indexes) {
      if (fields <= mostFields) return;
      fields -= changes.size;
      this.#indexes.delete(id);
    }
  }
}

function addTo(known: Map<string, LastChange>, change: RecordedChange, isNewer: boolean): void {
  const { revision, time, actor, source, reason } = change;
  const told: LastChange = { revision, time, actor, source, ...(reason !== undefined && { reason }) };
  for (const { scope, field } of change.changes) {
    const path = joinConfigPath(scope, field);
    if (isNewer || !known.has(path)) known.set(path, told);
  }
}
