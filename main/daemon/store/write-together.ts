import { RepoconfError } from "../../../shared/errors.ts";
import type { Repository, WrittenChanges } from "./repository.ts";
import type { Applied, ChangeRequest } from "./store.ts";

/**
 * Writes one change to each of several repositories, all or none; each is held (`exclusive`) by the caller. If any
 * `decide` refuses, nothing is written, and the answers say why.
 */
export async function writeTogether<Answer>(
  repositories: readonly Repository[],
  requests: ReadonlyMap<string, ChangeRequest<Answer>>,
): Promise<Map<string, Applied<Answer>>> {
  const answers = new Map<string, Applied<Answer>>();
  let refused = false;
  for (const repository of repositories) {
    const request = requests.get(repository.id);
    if (request === undefined) continue;
    const { edits, answer } = await repository.ask(request);
    answers.set(repository.id, { state: repository.state, answer });
    refused ||= edits === undefined;
  }
  if (refused) return answers;
  const written: WrittenChanges[] = [];
  try {
    for (const repository of repositories) {
      const request = requests.get(repository.id);
      if (request === undefined) continue;
      const one = await repository.write(request);
      written.push(one);
      answers.set(repository.id, one.applied);
      refused ||= one.refused;
    }
  } catch (error) {
    const kept = await undoAll(written);
    throw kept.length === 0 ? error : partlyWritten(error, kept);
  }
  if (refused) {
    const kept = await undoAll(written);
    if (kept.length > 0) throw partlyWritten("another change came first", kept);
  } else for (const one of written) one.finish();
  return answers;
}

/**
 * Puts back what was there. Where that cannot be, because the disk refuses or the file was edited meanwhile, the new values
 * are what the file holds, and so they count; these repositories are returned.
 */
async function undoAll(written: readonly WrittenChanges[]): Promise<string[]> {
  const kept: string[] = [];
  for (const one of written.toReversed()) {
    try {
      await one.undo();
    } catch {
      one.finish();
      kept.push(...one.decided.slice(0, 1).map(({ after }) => after.id));
    }
  }
  return kept;
}

/** All was to be or nothing, and neither could be had: that must not be told as nothing. */
function partlyWritten(error: unknown, kept: readonly string[]): RepoconfError {
  const cause = error instanceof Error ? error.message : String(error);
  const message = `Not everything could be written (${cause}), and ${kept.join(", ")} could not be put back: the new values stand there.`;
  return new RepoconfError(1108, message, { details: { kept } });
}
