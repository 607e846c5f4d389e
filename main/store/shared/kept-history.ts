import {
  applyConfigEdits,
  type Config,
  type ConfigEdit,
  configEntries,
  countConfigFields,
} from "../../../shared/config.ts";
import { editsBefore, editsOf } from "../../../shared/config-diff.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { readRemote } from "../../git/git-remote.ts";
import type { RecordedJournal } from "../history/layered-history.ts";
import type { ChangeRecord } from "../history/record.ts";
import type { RecordedDocument } from "../history/repository-history.ts";
import { JournalDamageError } from "../history/segment.ts";
import type { HeldRepository } from "../log/append-with-retry.ts";
import { type Commit, type Committed, type Forgetting, numberIn, type SnapshotPart } from "../log/commit-log.ts";
import { documentCommit, whoOf } from "../log/document-commits.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { RepositoryFiles } from "../mirror/repository-files.ts";
import type { MetadataChanges } from "../mirror/repository-metadata.ts";
import type { OpenRepository } from "../repository/repositories.ts";
import type { DocumentCommit, RepositoryState } from "../types.ts";

/** A repository that several machines share. */
export interface SharedRepository extends OpenRepository, RecordedDocument, HeldRepository {
  readonly state: RepositoryState;
  /** Without local values. */
  readonly own: RepositoryState;
  readonly journal: RecordedJournal & { oldest(newest: number): number };
  /** The values in the log that belong to `own`. */
  readonly recorded: Config;
  readonly isRead: boolean;
  /** Whether the log has it, as far as is known. */
  readonly hasBegun: boolean;
  readonly lineage: string;
  readonly files: RepositoryFiles;
  readonly mirror: Mirror;
  readonly writer: { writeLast(): Promise<void> };
  readonly text: { changeMetadata(changes: MetadataChanges): Promise<void> };
  refresh(): Promise<void>;
  exclusive<Result>(task: () => Promise<Result>): Promise<Result>;
  applyRemote(committed: Committed<Commit>, document: DocumentCommit, isPart: boolean): void;
}

/** The maximum of bytes of values in one commit of a snapshot, except for a single larger value. */
const pieceBytes = 64 * 1024;

/** The state at the beginning of a repository's kept history. */
export interface Beginning {
  readonly revision: number;
  readonly values: Config;
  /** The remote that the repository is a clone of, as HOST/PATH. */
  readonly remote: string | undefined;
  /** The approximate time of that state. */
  readonly time: string;
  /** The later requests to forget values, oldest first. */
  readonly erasures: readonly Forgetting[];
}

/** The beginning, as far back as revisions are without gaps. The repository must be loaded. Throws the system's error. */
export async function beginningOf(repository: SharedRepository): Promise<Beginning> {
  const { id, journal, own, recorded } = repository;
  await repository.writeHistory();
  let { revision } = own;
  const oldest = journal.oldest(revision);
  let time = "";
  let isCut = false;
  const undone: (readonly ConfigEdit[])[] = [];
  const erasures: Forgetting[] = [];
  try {
    for await (const record of journal.backward(revision)) {
      if (record.kind === "forget") erasures.push({ ...record, repo: id });
      if (record.kind !== "change") continue;
      if (revision <= oldest) break;
      isCut = record.revision !== revision;
      if (isCut) break;
      ({ time } = record);
      // What was before a recovery is not known.
      if (record.recovered !== undefined) break;
      undone.push(editsBefore(record.changes));
      revision -= 1;
    }
  } catch (error) {
    // Revisions before the damage cannot be read.
    if (!(error instanceof JournalDamageError)) throw error;
  }
  const values = applyConfigEdits(recorded, undone.flat());
  const isKnown = !isCut && (revision === 0 || countConfigFields(values) > 0);
  // In a home that was copied into a shared log, the remote can only be read from the folder.
  const remote = own.remote ?? (own.path && (await readRemote(own.path)));
  const known = { remote, time, erasures: erasures.reverse() };
  if (isKnown || undone.length === 0) return { ...known, revision, values };
  // The oldest record stands for everything before it: this machine joined there, or was offline until then.
  undone.pop();
  return { ...known, revision: revision + 1, values: applyConfigEdits(recorded, undone.flat()) };
}

/**
 * The commits after a revision, up to the newest one. Without a revision: everything that is kept, preceded by commits with all values
 * of the beginning. Throws the system's error, JournalDamageError or SegmentMissingError.
 */
export async function* commitsSince(
  repository: SharedRepository,
  beginning: Beginning,
  after: number | undefined,
  logId: string,
  maxBytes = pieceBytes,
): AsyncGenerator<Commit> {
  const { id: repo, journal, lineage, own } = repository;
  await repository.writeHistory();
  const { revision: from, values, remote, time } = beginning;
  const known = { name: own.name, ...(remote !== undefined && { remote }) };
  const begins = { begins: true, isWhole: true, ...known } as const;
  if (after === undefined && from > 0)
    for (const edits of piecesOf(configEntries(values), maxBytes)) {
      const document = { repo, lineage, ...begins, revision: from, edits };
      yield { kind: "commit", time, actor: { kind: "file" }, source: "file", documents: [document] };
    }
  for await (const change of journal.forward(after ?? from, own.revision)) {
    const { revision } = change;
    const place = { repo, lineage, ...(revision === 1 && begins), revision };
    const document = documentCommit(place, fileEditsOf(change), change.changes);
    yield { kind: "commit", ...whoOf(change), number: numberIn(logId, change.position) || 1, documents: [document] };
  }
}

/**
 * What a revision changed in the files. A value that became inactive without an edit, as by a schema, stays in them. One that became active
 * counts as an edit: the machine that reads this may have begun after the file got it.
 */
function fileEditsOf({ changes, unedited = [] }: ChangeRecord): ConfigEdit[] {
  const kept = new Set(unedited.map(({ scope, field }) => joinConfigPath(scope, field)));
  return editsOf(
    changes.filter(({ scope, field, after }) => after !== undefined || !kept.has(joinConfigPath(scope, field))),
  );
}

/** The first commit of a repository in parts that messages can hold. */
export function* partsOf(commit: Commit, maxBytes: number): Generator<SnapshotPart> {
  const [document] = commit.documents;
  if (document === undefined) return;
  const pieces = [...piecesOf(document.edits, maxBytes)];
  for (const [index, edits] of pieces.entries()) {
    const commits = [{ ...commit, documents: [{ ...document, edits }] }];
    const place = { isFirst: index === 0, isLast: index === pieces.length - 1 };
    yield { kind: "part", snapshot: 0, repo: document.repo, commits, erasures: [], ...place };
  }
}

/** Splits values into pieces, at least one. */
function* piecesOf(values: Iterable<ConfigEdit>, maxBytes: number): Generator<ConfigEdit[]> {
  let edits: ConfigEdit[] = [];
  let bytes = 0;
  for (const edit of values) {
    const more = Buffer.byteLength(JSON.stringify(edit.value) ?? "") + edit.field.length;
    if (bytes > 0 && bytes + more > maxBytes) {
      yield edits;
      [edits, bytes] = [[], 0];
    }
    edits.push(edit);
    bytes += more;
  }
  yield edits;
}
