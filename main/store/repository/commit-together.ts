import { RepoconfError } from "../../../shared/errors.ts";
import type { CountedLayer, Layer } from "../../../shared/protocol.ts";
import { type Commit, type CommitLog, ConflictError } from "../log/commit-log.ts";
import type { WaitingChange } from "../state/decide-batch.ts";
import { appendPrepared, type PreparedChanges } from "../state/prepared-changes.ts";
import { storageFailure } from "../storage-failure.ts";
import type { Actor, Applied, ChangeRequest, LayerEdit, Mirrored, RepositoryState } from "../types.ts";
import type { DocumentAbove, FileReader, FileWriter } from "./parts.ts";

/** The document that a layer of a repository is: its own, or one above it. See `Repository`. */
interface LayerDocument {
  readonly id: string;
  readonly own: RepositoryState;
  readonly reader: Pick<FileReader, "bringUpToDate">;
  readonly writer: FileWriter;
  readonly changes: { prepare(batch: readonly WaitingChange[]): Promise<PreparedChanges> };
  exclusive<Result>(task: () => Promise<Result>): Promise<Result>;
}

/** A repository, with its layers. */
interface LayeredRepository extends LayerDocument {
  readonly state: RepositoryState;
  /** The lowest first. */
  readonly above: readonly DocumentAbove<LayerDocument>[];
  readonly mirror: { dropPrepared(): Promise<void> };
  makeLayer(layer: Layer, actor: Actor): Promise<void>;
  loadStanding(): Promise<void>;
  conflictApplied(conflict: ConflictError): Promise<void>;
}

/**
 * As `Repository.change` on several repositories, as one entry of the log, so that all of it becomes active or nothing. If `decide`
 * refuses for any of them, nothing is changed, and the answers say why. Throws RepoconfError 1102, 1106, 1107 or 1108.
 */
export async function changeTogether<Answer>(
  all: { require(id: string): LayeredRepository },
  log: CommitLog,
  ids: readonly string[],
  request: ChangeRequest<Answer>,
): Promise<Map<string, Applied<Answer>>> {
  // Always in the same order, so that two such changes cannot deadlock.
  const repositories = [...new Set(ids)].sort().map(id => all.require(id));
  for (const repository of repositories) await repository.loadStanding();
  const answers = await holding(repositories, async () => {
    try {
      return await changeHeld(repositories, log, request);
    } finally {
      for (const held of repositories) await held.mirror.dropPrepared();
    }
  });
  const flush = async (repository: LayeredRepository) => {
    const applied = answers.get(repository.id);
    if (applied !== undefined) answers.set(repository.id, { ...applied, mirrored: await flushLayers(repository) });
  };
  if (request.flush) await Promise.all(repositories.map(flush));
  return answers;
}

/** A change of one repository with several layers. Call it in its queue. */
export async function changeLayers<Answer>(
  repository: LayeredRepository,
  log: CommitLog,
  request: ChangeRequest<Answer>,
): Promise<Applied<Answer>> {
  const applied = (await changeHeld([repository], log, request)).get(repository.id);
  if (applied === undefined) throw new Error(`no answer for ${repository.id}`);
  return applied;
}

/** Settles a queued change. */
export async function settleWith({ settle }: WaitingChange, applied: Promise<Applied<unknown>>): Promise<void> {
  await applied.then(
    done => settle({ applied: done }),
    error => settle({ error }),
  );
}

/** As `MirrorWriter.flush`, of all layers that the repository can change. */
export async function flushLayers({ writer, above }: LayeredRepository): Promise<Mirrored> {
  const own = above.filter(({ name }) => name !== "base").map(({ document }) => document.writer);
  const flushed = await Promise.all([writer, ...own].map(one => one.flush()));
  return flushed.find(one => one !== true) ?? true;
}

/** Runs `task` while nothing else changes these documents. */
async function holding<Result>(documents: readonly LayerDocument[], task: () => Promise<Result>): Promise<Result> {
  const [first, ...others] = documents;
  return first === undefined ? task() : first.exclusive(() => holding(others, task));
}

/** What a request makes of the layers of a repository. */
interface DecidedLayers<Answer> {
  readonly documents: readonly { readonly document: LayerDocument; readonly prepared: PreparedChanges }[];
  readonly answer: Answer;
  readonly isRefused: boolean;
  /** A layer that it edits, and that has no document yet. */
  readonly missing: Layer | undefined;
}

/** The repositories are held. Their layers are held after all of them, in the order of their ids. */
async function changeHeld<Answer>(
  repositories: readonly LayeredRepository[],
  log: CommitLog,
  request: ChangeRequest<Answer>,
): Promise<Map<string, Applied<Answer>>> {
  for (;;) {
    const layers = new Map(repositories.flatMap(({ above }) => above.map(({ document }) => [document.id, document])));
    const inOrder = [...layers.keys()].sort().flatMap(id => layers.get(id) ?? []);
    const isHeld = () => repositories.every(({ above }) => above.every(({ document }) => layers.has(document.id)));
    const outcome = await holding(inOrder, () => decideAndCommit(repositories, log, request, isHeld));
    if (outcome instanceof Map) return outcome;
    for (const repository of outcome) await repository.makeLayer("local", request.actor);
  }
}

/**
 * Returns the repositories that need a local layer, if any of them does, or none of them if the base of a worktree got one meanwhile: then
 * nothing is changed.
 */
async function decideAndCommit<Answer>(
  repositories: readonly LayeredRepository[],
  log: CommitLog,
  request: ChangeRequest<Answer>,
  isHeld: () => boolean,
): Promise<Map<string, Applied<Answer>> | readonly LayeredRepository[]> {
  const decided: (DecidedLayers<Answer> & { readonly repository: LayeredRepository })[] = [];
  for (const repository of repositories) decided.push({ repository, ...(await decideLayers(repository, request)) });
  const isRefused = decided.some(one => one.isRefused);
  const isLacking = ({ missing }: DecidedLayers<Answer>) => missing !== undefined && !request.isTrial;
  const lacking = decided.filter(isLacking).map(({ repository }) => repository);
  if (lacking.length > 0 && !isRefused) return lacking;
  if (!isHeld()) return [];
  const documents = decided.flatMap(one => one.documents);
  const changes = documents.map(({ prepared }) => prepared);
  const [first, ...others] = changes.flatMap(({ commits }) => commits);
  if (!isRefused && first !== undefined) {
    const commit: Commit = { ...first, documents: [first, ...others].flatMap(one => one.documents) };
    const last = changes.findLast(({ commits }) => commits.length > 0);
    try {
      await appendPrepared(log, changes, [commit], number => {
        for (const prepared of changes) prepared.commit(number, prepared !== last);
      });
    } catch (error) {
      if (error instanceof ConflictError) {
        await Promise.race(repositories.map(repository => repository.conflictApplied(error)));
        return decideAndCommit(repositories, log, request, isHeld);
      }
      throw storageFailure(decided[0]?.repository.id ?? "", error);
    }
    await Promise.all(documents.map(({ document }) => document.writer.writeInTree()));
  }
  return new Map(decided.map(({ repository, answer }) => [repository.id, { state: repository.state, answer }]));
}

/** Decides on what counts, and prepares the edits of each layer; again if an edit by hand came in between. */
async function decideLayers<Answer>(
  repository: LayeredRepository,
  request: ChangeRequest<Answer>,
): Promise<DecidedLayers<Answer>> {
  for (;;) {
    const layers = [{ name: "shared" as const, document: repository }, ...repository.above];
    for (const { document } of layers) await document.reader.bringUpToDate();
    const states = layers.map(({ document }) => document.own);
    const { edits, recorded = [], plain = [], answer } = request.decide(repository.state);
    const byLayer = Map.groupBy<CountedLayer, LayerEdit>(edits ?? [], ({ layer = "shared" }) => layer);
    const documents: { readonly document: LayerDocument; readonly prepared: PreparedChanges }[] = [];
    for (const { name, document } of layers) {
      const own = byLayer.get(name);
      // Without another layer, the shared one also tells that it cannot be changed.
      if (own === undefined && layers.length > 1) continue;
      const isOfLayer = ({ layer = "shared" }: LayerEdit) => layer === name;
      const ofLayer = { edits: own ?? [], recorded: recorded.filter(isOfLayer), plain: plain.filter(isOfLayer) };
      documents.push({ document, prepared: await prepareEdits(repository.id, document, request, ofLayer) });
    }
    const isMissing = [...byLayer].some(([name, own]) => isNew(own) && !layers.some(layer => layer.name === name));
    if (layers.every(({ document }, index) => document.own === states[index]))
      return { documents, answer, isRefused: edits === undefined, missing: isMissing ? "local" : undefined };
  }
}

function isNew(edits: readonly LayerEdit[]): boolean {
  return edits.some(({ value }) => value !== undefined);
}

async function prepareEdits(
  repo: string,
  document: LayerDocument,
  request: ChangeRequest<unknown>,
  { edits, ...more }: Record<"edits" | "recorded" | "plain", readonly LayerEdit[]>,
): Promise<PreparedChanges> {
  const ofLayer = edits.map(({ scope, field, value }) => ({ scope, field, value }));
  const own = { ...request, decide: () => ({ ...more, edits: ofLayer, answer: undefined }) };
  try {
    const prepared = await document.changes.prepare([{ request: own, settle: () => {} }]);
    for (const { error } of prepared.decided) if (error !== undefined) throw error;
    return prepared;
  } catch (error) {
    // Nobody knows the document of a layer by its id.
    throw error instanceof RepoconfError ? error.inRepository(repo) : error;
  }
}
