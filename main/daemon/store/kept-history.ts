import {
  applyConfigEdits,
  type Config,
  type ConfigEdit,
  configEntries,
  countConfigFields,
} from "../../../shared/config.ts";
import { readRemote } from "../../git-remote.ts";
import { editsOf, whoOf } from "./document-commits.ts";
import { JournalDamageError } from "./journal/segment.ts";
import { type Commit, type Forgetting, numberIn } from "./log/commit-log.ts";
import type { Repository } from "./repository.ts";

/** What values take in one commit, at most, but for one that is larger by itself. */
const pieceBytes = 64 * 1024;

/** With what a repository's kept history begins. */
export interface Beginning {
  readonly revision: number;
  readonly values: Config;
  /** What the repository is a clone of, as HOST/PATH. */
  readonly remote: string | undefined;
  /** About when that was so. */
  readonly time: string;
  /** What was made to be forgotten since, the oldest first. */
  readonly forgettings: readonly Forgetting[];
}

/** As far back as each revision follows the one before. The repository is loaded. Throws the system's error. */
export async function beginningOf(repository: Repository): Promise<Beginning> {
  const { id, journal, state, recorded, oldest } = repository;
  await repository.writeHistory();
  let { revision } = state;
  let time = "";
  let isCut = false;
  const undone: (readonly ConfigEdit[])[] = [];
  const forgettings: Forgetting[] = [];
  try {
    for await (const record of journal.backward(revision)) {
      if (record.kind === "forget") forgettings.push({ ...record, repo: id });
      if (record.kind !== "change") continue;
      if (revision <= oldest) break;
      isCut = record.revision !== revision;
      if (isCut) break;
      undone.push(record.changes.map(({ scope, field, before }) => ({ scope, field, value: before })));
      ({ time } = record);
      revision -= 1;
    }
  } catch (error) {
    // What is before the damage cannot be told.
    if (!(error instanceof JournalDamageError)) throw error;
  }
  const values = applyConfigEdits(recorded, undone.flat());
  const isKnown = !isCut && (revision === 0 || countConfigFields(values) > 0);
  // A home that was copied into a shared log knows it by the folder alone.
  const remote = state.remote ?? (state.path && (await readRemote(state.path)));
  const known = { remote, time, forgettings: forgettings.reverse() };
  if (isKnown || undone.length === 0) return { ...known, revision, values };
  // The oldest one stands for all that came before it: this machine joined with it, or was away until then.
  undone.pop();
  return { ...known, revision: revision + 1, values: applyConfigEdits(recorded, undone.flat()) };
}

/**
 * What was committed after a revision, up to the newest one; where none is given, all that is kept, behind commits that have
 * all values of the beginning together. Throws the system's error, JournalDamageError or SegmentMissingError.
 */
export async function* commitsSince(
  repository: Repository,
  beginning: Beginning,
  after: number | undefined,
  logId: string,
): AsyncGenerator<Commit> {
  const { id: repo, journal, lineage, state } = repository;
  await repository.writeHistory();
  const { revision: from, values, remote, time } = beginning;
  const known = { name: state.name, ...(remote !== undefined && { remote }) };
  const begins = { begins: true, isWhole: true, ...known } as const;
  if (after === undefined && from > 0)
    for (const edits of piecesOf(values)) {
      const document = { repo, lineage, ...begins, revision: from, edits };
      yield { kind: "commit", time, actor: { kind: "file" }, source: "file", documents: [document] };
    }
  for await (const change of journal.forward(after ?? from, state.revision)) {
    const { revision } = change;
    const document = { repo, lineage, ...(revision === 1 && begins), revision, edits: editsOf(change.changes) };
    yield { kind: "commit", ...whoOf(change), number: numberIn(logId, change.position) || 1, documents: [document] };
  }
}

/** All values, at least one piece of them. */
function* piecesOf(values: Config): Generator<ConfigEdit[]> {
  let edits: ConfigEdit[] = [];
  let bytes = 0;
  for (const { scope, field, value } of configEntries(values)) {
    const more = Buffer.byteLength(JSON.stringify(value)) + field.length;
    if (bytes > 0 && bytes + more > pieceBytes) {
      yield edits;
      [edits, bytes] = [[], 0];
    }
    edits.push({ scope, field, value });
    bytes += more;
  }
  yield edits;
}
