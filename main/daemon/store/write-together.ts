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
    await undoAll(written);
    throw error;
  }
  if (refused) await undoAll(written);
  else for (const one of written) one.finish();
  return answers;
}

/** Puts back what was there. Where the disk refuses that, the new values are what the file holds, and so they count. */
async function undoAll(written: readonly WrittenChanges[]): Promise<void> {
  for (const one of written.toReversed()) await one.undo().catch(() => one.finish());
}
