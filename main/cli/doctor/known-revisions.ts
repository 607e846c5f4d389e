import { join } from "node:path";
import { realFileSystem } from "../../files/file-system.ts";
import type { Home } from "../../home/home.ts";
import { readLog } from "../../store/log/log-folder.ts";
import { recover } from "../../store/log/recover.ts";
import { RepositoryIndex } from "../../store/state/repository-index.ts";
import { systemClock } from "../../time/clock.ts";

/**
 * The revision that the history of each repository must have at least, by what the index and the log know: the newest in the index, except
 * for those that the log still has. Read the histories afterwards: a daemon that runs removes from the log only what they have.
 */
export async function knownRevisions(home: Home): Promise<ReadonlyMap<string, number>> {
  const index = new RepositoryIndex(home.indexFile, join(home.temporary, "index.json"), realFileSystem, systemClock);
  const { data } = await index.read();
  const known = new Map<string, number>();
  for (const entries of [data.repositories, data.layers])
    for (const id of entries.ids()) known.set(id, entries.get(id)?.revision ?? 0);
  for (const { entry } of recover(await readLog(home.log)).entries) {
    if (entry.kind !== "commit") continue;
    for (const { repo, revision } of entry.documents) {
      const newest = known.get(repo);
      if (newest !== undefined && newest >= revision) known.set(repo, revision - 1);
    }
  }
  return known;
}
