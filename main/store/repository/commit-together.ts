import { type Commit, type CommitLog, ConflictError } from "../log/commit-log.ts";
import { storageFailure } from "../storage-failure.ts";
import type { Applied, ChangeRequest, DocumentCommit } from "../types.ts";
import type { Repositories } from "./repositories.ts";
import type { Repository } from "./repository.ts";
import { isOutcomeUnknown, type PreparedChanges } from "./repository-changes.ts";

/**
 * As `Repository.change` on several repositories, as one entry of the log, so that all of it becomes active or nothing. If any `decide`
 * refuses, nothing is changed, and the answers say why. Throws RepoconfError 1102, 1106, 1107 or 1108.
 */
export async function changeTogether<Answer>(
  all: Pick<Repositories<Repository>, "require">,
  log: CommitLog,
  requests: ReadonlyMap<string, ChangeRequest<Answer>>,
): Promise<Map<string, Applied<Answer>>> {
  // Always in the same order, so that two such changes cannot deadlock.
  const repositories = [...requests.keys()].sort().map(id => all.require(id));
  const holdAll = async (index: number): Promise<Map<string, Applied<Answer>>> => {
    const repository = repositories[index];
    if (repository !== undefined) return repository.exclusive(() => holdAll(index + 1));
    try {
      return await decideAndCommit(repositories, requests, log);
    } finally {
      for (const held of repositories) await held.dropPrepared();
    }
  };
  const answers = await holdAll(0);
  await Promise.all(
    repositories.map(async repository => {
      const applied = answers.get(repository.id);
      if (applied === undefined || !requests.get(repository.id)?.flush) return;
      answers.set(repository.id, { ...applied, mirrored: await repository.writer.flush() });
    }),
  );
  return answers;
}

async function decideAndCommit<Answer>(
  repositories: readonly Repository[],
  requests: ReadonlyMap<string, ChangeRequest<Answer>>,
  log: CommitLog,
): Promise<Map<string, Applied<Answer>>> {
  const answers = new Map<string, Applied<Answer>>();
  const changes: PreparedChanges[] = [];
  let isRefused = false;
  for (const repository of repositories) {
    const request = requests.get(repository.id);
    if (request === undefined) continue;
    const { prepared, applied, refused } = await repository.changes.prepare(request);
    answers.set(repository.id, applied);
    changes.push(prepared);
    isRefused ||= refused;
  }
  if (isRefused) return answers;
  const documents: DocumentCommit[] = changes.flatMap(({ commits }) => commits.flatMap(commit => commit.documents));
  const first = changes.flatMap(({ commits }) => commits).at(0);
  if (first === undefined) {
    for (const prepared of changes) prepared.commit([]);
    return answers;
  }
  const commit: Commit = { ...first, documents };
  try {
    for (const prepared of changes) await prepared.trust();
    await log.append({
      entries: [commit],
      after: Math.min(...changes.map(({ after }) => after)),
      committed: number => {
        const last = changes.findLast(({ commits }) => commits.length > 0);
        for (const prepared of changes) prepared.commit([number], prepared !== last);
      },
    });
  } catch (error) {
    if (!isOutcomeUnknown(error)) for (const prepared of changes) prepared.distrust();
    if (error instanceof ConflictError) {
      await Promise.race(repositories.map(repository => repository.conflictApplied(error)));
      return decideAndCommit(repositories, requests, log);
    }
    throw storageFailure(documents[0]?.repo ?? "", error);
  }
  await Promise.all(repositories.map(repository => repository.writer.writeInTree()));
  return answers;
}
