import { createHash, randomBytes } from "node:crypto";
import { rename, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { applyConfigEdits, type Config, configEntries } from "../../../shared/config.ts";
import { syncFolder } from "../../files/durable-text-file.ts";
import { realFileSystem } from "../../files/file-system.ts";
import type { Home } from "../../home/home.ts";
import { HomeError } from "../../home/prepare-home.ts";
import { beforeFolder } from "../../home/restore.ts";
import { type SettingsValues, writeSetting } from "../../home/settings.ts";
import type { Commit, CommitLog } from "../../store/log/commit-log.ts";
import { activeEditsOf } from "../../store/log/document-commits.ts";
import { beginningOf, commitsSince, partsOf } from "../../store/shared/kept-history.ts";
import { followsSharedLog, hasRepositories, sharedLog } from "../../store/shared/shared-log.ts";
import { sharedScopesFileName } from "../../store/shared/shared-scopes.ts";
import { positionFileName } from "../../store/shared/stream/stream-position.ts";
import type { Store } from "../../store/store.ts";
import type { DocumentCommit, RepositoryState } from "../../store/types.ts";
import { systemClock } from "../../time/clock.ts";
import { assertNoValues, localLayersOf, moveLocalLayers, namesOf, saveLocalValues } from "./local-layers.ts";
import { beginOwnLog, removeOwnLog } from "./own-log.ts";
import { type Held, holdHome, withStore } from "./store-without-daemon.ts";

export interface CopyOptions {
  readonly home: Home;
  readonly address: string;
  /** Keep local values aside in a folder of the home, instead of refusing to copy it. */
  readonly leaveLocal?: boolean;
  /** Called before anything is written, with what is not copied, and where it will be. */
  onNote?(text: string): void;
  /** Called from time to time with a repository's last copied revision and its newest one. */
  onProgress(repo: string, revision: number, newest: number): void;
}

/** How many revisions, and how many bytes of them, are appended to the log at once: its server limits the size of a message. */
const groupSize = 100;
const groupBytes = 256 * 1024;

/** A repository as a log has it. */
interface Known {
  readonly revision: number;
  readonly values: Config;
  /** The digest of all its commits, in order. */
  readonly digest: string;
}

/**
 * Copies the repositories of a home, with their kept history, to a log that several machines share, reads them back and compares
 * them, and makes the home follow that log from then on. No daemon may run on the home. Continues an interrupted copy. Returns
 * the number of repositories. Throws HomeError; the home is then unchanged.
 */
export async function copyToShared(options: CopyOptions): Promise<number> {
  const { home, address } = options;
  await using held = await holdHome(home);
  if (await followsSharedLog(home)) {
    // An interrupted copy may have been complete but for this.
    await removeOwnLog(home);
    await moveLocalLayers(home);
    throw new HomeError(`The home ${home.folder} uses a shared log already. Nothing was copied to ${address}.`);
  }
  const staging = join(home.temporary, `log-${randomBytes(4).toString("hex")}`);
  const before = beforeFolder(home, "copy");
  const { count, layers } = await withStore(held, undefined, async store => {
    const layers = await localLayersOf(store);
    if (!options.leaveLocal) assertNoValues(layers, `repoconf log copy --to ${address} --leave-local`);
    if (layers.length > 0) options.onNote?.(`Not copied: ${namesOf(layers)}. They will be in ${before}`);
    return { count: await appendAll(store, held, options, staging), layers };
  });
  await saveLocalValues(home, layers, before);
  // It counts them in. It is made again from files and histories.
  if (layers.length > 0) await rm(home.indexFile, { force: true });
  // Before the home is bound to the shared log: until then, it still uses its own, whatever the settings say.
  await writeSetting(home, "log", { ...held.settings.log, address });
  // In one step: with this file, nobody reads the home's own log any more. The histories have everything that was in it.
  await rename(join(staging, "after", positionFileName), join(home.log, positionFileName));
  await syncFolder(home.log, realFileSystem, systemClock);
  await removeOwnLog(home);
  await moveLocalLayers(home, before);
  await rm(staging, { recursive: true });
  return count;
}

/**
 * The reverse of `copyToShared`: the home gets everything that the shared log has, which is read a second time and compared, and its own
 * log from then on.
 */
export async function copyFromShared({ home, address, onProgress }: CopyOptions): Promise<number> {
  await using held = await holdHome(home);
  if (!(await followsSharedLog(home)) && (await hasRepositories(home)))
    throw new HomeError(`The home ${home.folder} has a log of its own already. Nothing was copied from ${address}.`);
  const staging = join(home.temporary, `log-${randomBytes(4).toString("hex")}`);
  const { store, count } = await withStore(held, address, async store => {
    if (store.log.problem !== undefined) throw new HomeError(store.log.problem);
    await using there = await readShared(home, address, held.settings, staging);
    const ids = [...new Set([...store.repositories.ids(), ...there.known.keys()])].sort();
    for (const id of ids) {
      const state = await store.repositories.read(id);
      const shared = there.known.get(id);
      if (state === undefined || !hasState(shared, state)) throw differing(id, home, address);
      onProgress(id, state.revision, state.revision);
    }
    return { store, count: ids.length };
  });
  await rm(staging, { recursive: true });
  // Of an interrupted copy: their histories name another log.
  await moveLocalLayers(home);
  await beginOwnLog(home, store.position);
  // As long as the file with the place exists, the command can be run again.
  await writeSetting(home, "log", undefined);
  await rm(join(home.log, positionFileName));
  await rm(join(home.log, sharedScopesFileName), { force: true });
  await syncFolder(home.log, realFileSystem, systemClock);
  return count;
}

function hasState(known: Known | undefined, { revision, stored = {} }: RepositoryState): boolean {
  return known?.revision === revision && textOf(known.values) === textOf(stored);
}

async function appendAll(
  store: Store,
  { home, settings }: Held,
  { address, onProgress }: CopyOptions,
  staging: string,
): Promise<number> {
  const summaries = await Promise.all([...store.repositories.ids()].sort().map(id => store.repositories.read(id)));
  const inTree = summaries.flatMap(state => (state?.inTree ? [state.id] : []));
  if (inTree.length > 0)
    throw new HomeError(
      `The values of ${inTree.join(", ")} are in work trees, which git already shares, so they cannot be in a shared log. Nothing was copied.`,
    );
  const { machine = hostname() } = settings.log ?? {};
  const digests = new Map<string, string>();
  {
    await using there = await readShared(home, address, settings, join(staging, "before"));
    for (const id of store.repositories.ids()) {
      const known = there.known.get(id);
      const from = known?.revision ?? 0;
      const newest = (await store.repositories.load(id)).own.revision;
      let digest = "";
      let group: Commit[] = [];
      let bytes = 0;
      const append = async () => {
        if (group.length === 0) return;
        await there.log.append({ entries: group, after: there.log.newest, committed: () => {} });
        onProgress(id, group.at(-1)?.documents[0]?.revision ?? 0, newest);
        group = [];
        bytes = 0;
      };
      for await (const commit of commitsOf(store, id, machine)) {
        digest = nextDigest(digest, commit, id);
        const revision = revisionOf(commit, id);
        // What the log already has must be the beginning of this history.
        if (revision === from && digest !== known?.digest) throw differing(id, home, address);
        if (revision <= from) continue;
        const more = Buffer.byteLength(JSON.stringify(commit));
        if (bytes + more > groupBytes) await append();
        const { partBytes = groupBytes } = there.log.snapshots ?? {};
        if (more > partBytes && commit.documents[0]?.begins) {
          for (const part of partsOf(commit, partBytes)) {
            await there.log.append({ entries: [part], after: there.log.newest, committed: () => {} });
            onProgress(id, revision, newest);
          }
          continue;
        }
        group.push(commit);
        bytes += more;
        if (group.length === groupSize) await append();
      }
      await append();
      if (digest !== "") digests.set(id, digest);
    }
  }
  await using there = await readShared(home, address, settings, join(staging, "after"));
  for (const [id, digest] of digests) {
    const shared = there.known.get(id);
    const { own } = await store.repositories.load(id);
    if (shared?.digest === digest && hasState(shared, own)) continue;
    throw differing(id, home, address);
  }
  // The histories have everything that was read.
  await there.log.release(there.log.newest);
  return digests.size;
}

/** A repository's kept history as commits of another log; the first one has the values at the beginning. */
async function* commitsOf(store: Store, repo: string, machine: string): AsyncGenerator<Commit> {
  const repository = await store.repositories.load(repo);
  const { log } = store;
  for await (const { number: _, ...commit } of commitsSince(
    repository,
    await beginningOf(repository),
    undefined,
    log.id,
    Number.POSITIVE_INFINITY,
  ))
    yield { machine, ...commit };
}

/** The repositories in a shared log, and the log itself, whose place is stored in `folder`. */
async function readShared(
  home: Home,
  address: string,
  settings: SettingsValues,
  folder: string,
): Promise<AsyncDisposable & { readonly log: CommitLog; readonly known: ReadonlyMap<string, Known> }> {
  const openLog = await sharedLog({ ...home, log: folder, repositories: folder, journal: folder }, address, settings);
  if (openLog === undefined) throw new Error("no address");
  const { log } = await openLog({
    folder,
    fileSystem: realFileSystem,
    clock: systemClock,
    assertHeld: () => {},
    onProblem: () => {},
  });
  const known = new Map<string, Known>();
  const take = (commit: Commit) => {
    for (const document of commit.documents) {
      const { repo, begins, revision } = document;
      const before = begins ? undefined : known.get(repo);
      const values = applyConfigEdits(before?.values ?? {}, activeEditsOf(document));
      known.set(repo, { revision, values, digest: nextDigest(before?.digest ?? "", commit, repo) });
    }
  };
  await log.subscribe({
    prepare:
      async ({ entry }) =>
      () => {
        if (entry.kind === "commit") take(entry);
        else if (entry.kind === "kept") for (const commit of entry.commits) take(commit);
        else if (entry.kind === "remove") known.delete(entry.repo);
      },
    onReachable: () => {},
    onProblems: () => {},
  });
  if (log.problem !== undefined) {
    await log.close();
    throw new HomeError(log.problem);
  }
  return { log, known, [Symbol.asyncDispose]: () => log.close() };
}

function differing(id: string, { folder }: Home, address: string): HomeError {
  const message = `${id} differs between the shared log ${address} and ${folder}: somebody is changing it, or the log has another one of that id. The home is unchanged. Run the command again, or choose another name for the log.`;
  return new HomeError(message);
}

function revisionOf({ documents }: Commit, id: string): number {
  return documents.find(({ repo }) => repo === id)?.revision ?? 0;
}

function nextDigest(digest: string, { time, actor, source, reason, batch, documents }: Commit, id: string): string {
  const document = documents.find(({ repo }) => repo === id);
  const { revision, edits, activeEdits }: Partial<DocumentCommit> = document ?? {};
  const text = JSON.stringify([digest, time, actor, source, reason, batch, revision, edits, activeEdits]);
  return createHash("sha256").update(text).digest("base64url");
}

function textOf(config: Config): string {
  return JSON.stringify(
    [...configEntries(config)].map(({ scope, field, value }) => [`${scope}.${field}`, value]).sort(),
  );
}
