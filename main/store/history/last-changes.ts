import { RepoconfError } from "../../../shared/errors.ts";
import type { Turn } from "../../time/yielding.ts";
import type { LastChange, RecordedChange } from "../types.ts";
import { addLastChange, readLastChanges } from "./kept-changes.ts";
import { allRecords, type RecordedDocument } from "./repository-history.ts";

interface Index {
  /** By `<scope>.<field>`. */
  readonly changes: Map<string, LastChange>;
  /** The last revision that is included. */
  revision: number;
  /** Resolves when the history has been read. */
  readonly read: Promise<void>;
}

/** The last change of a field, `<scope>.<field>`; undefined if none is known. Throws RepoconfError 1110 if the history is damaged there. */
type LastChangeOf = (path: string) => LastChange | undefined;

/**
 * The last change of each field, also if the history no longer goes back that far: read from it at the first request, updated with each later change, and dropped with the
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
      return change;
    };
  }

  /** Adds a revision that has become visible. */
  note(repository: RecordedDocument | undefined, change: RecordedChange): void {
    const index = repository && this.#indexes.get(repository);
    // After a gap, the index is read again at the next request.
    if (index === undefined || change.revision !== index.revision + 1 || change.source === "recovery") return;
    index.revision = change.revision;
    addLastChange(index.changes, change, true);
  }
}

function begin(repository: RecordedDocument, turn: Turn): Index {
  const { revision } = repository.state;
  // Changes noted meanwhile are newer, and stay.
  const changes = new Map<string, LastChange>();
  const readAll = async () => {
    await readLastChanges(allRecords(repository, turn), changes);
  };
  return { changes, revision, read: readAll() };
}
