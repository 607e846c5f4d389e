import { type Commit, type CommitLog, ConflictError } from "../log/commit-log.ts";
import { storageFailure } from "../storage-failure.ts";
import type { Applied, ChangeRequest } from "../types.ts";
import type { Repository } from "./repository.ts";
import { appendPrepared, type PreparedChanges } from "./repository-changes.ts";

/**
 * As `Repository.change` on several repositories, as one entry of the log, so that all of it becomes active or nothing. If `decide`
 * refuses for any of them, nothing is changed, and the answers say why. Throws RepoconfError 1102, 1106, 1107 or 1108.
 */
export async function changeTogether<Answer>(
  all: { require(id: string): Repository },
  log: CommitLog,
  ids: readonly string[],
  request: ChangeRequest<Answer>,
): Promise<Map<string, Applied<Answer>>> {
  // Always in the same order, so that two such changes cannot deadlock.
  const repositories = [...new Set(ids)].sort().map(id => all.require(id));
  const holdAll = async (index: number): Promise<Map<string, Applied<Answer>>> => {
    const repository = repositories[index];
    if (repository !== undefined) return repository.exclusive(() => holdAll(index + 1));
    try {
      return await decideAndCommit(repositories, log, request);
    } finally {
      for (const held of repositories) await held.mirror.dropPrepared();
    }
  };
  const answers = await holdAll(0);
  const flush = async ({ id, writer }: Repository) => {
    const applied = answers.get(id);
    if (applied !== undefined) answers.set(id, { ...applied, mirrored: await writer.flush() });
  };
  if (request.flush) await Promise.all(repositories.map(flush));
  return answers;
}

async function decideAndCommit<Answer>(
  repositories: readonly Repository[],
  log: CommitLog,
  request: ChangeRequest<Answer>,
): Promise<Map<string, Applied<Answer>>> {
  const answers = new Map<string, Applied<Answer>>();
  const changes: PreparedChanges[] = [];
  let isRefused = false;
  for (const repository of repositories) {
    const prepared = await repository.changes.prepare([{ request, settle: () => {} }]);
    changes.push(prepared);
    for (const { after: state, answer, refused, error } of prepared.decided) {
      if (error !== undefined) throw error;
      answers.set(repository.id, { state, answer: answer as Answer });
      isRefused ||= refused;
    }
  }
  const [first, ...others] = changes.flatMap(({ commits }) => commits);
  if (isRefused || first === undefined) return answers;
  const commit: Commit = { ...first, documents: [first, ...others].flatMap(({ documents }) => documents) };
  const last = changes.findLast(({ commits }) => commits.length > 0);
  try {
    await appendPrepared(log, changes, [commit], number => {
      for (const prepared of changes) prepared.commit(number, prepared !== last);
    });
  } catch (error) {
    if (error instanceof ConflictError) {
      await Promise.race(repositories.map(repository => repository.conflictApplied(error)));
      return decideAndCommit(repositories, log, request);
    }
    throw storageFailure(first.documents[0]?.repo ?? "", error);
  }
  await Promise.all(repositories.map(repository => repository.writer.writeInTree()));
  return answers;
}
