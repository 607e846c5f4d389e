import { RepoconfClient } from "../../shared/client/client.ts";
import type { WatchMessage } from "../../shared/client/watch.ts";
import { applyConfigEdits, countConfigFields } from "../../shared/config.ts";
import { RepoconfError } from "../../shared/errors.ts";
import type { ConfigChanged, IndexingProgress, RepositoryEntry } from "../../shared/protocol.ts";
import { withMasks } from "../../shared/scopes/masks.ts";
import { forgetSession, type Locate } from "../session.ts";
import { shell } from "../shell.ts";
import { loadDrafts, loseDrafts, takeDrafts } from "./drafts.ts";
import { tellOutcome, withConflicts } from "./edits.ts";
import { watchHeartbeat } from "./heartbeat.ts";
import { inOrder } from "./repository-order.ts";
import { editKey, findRepository, type OpenRepository, type ScreenState, screenStore } from "./store.ts";

/** How long a field stays marked after it changed elsewhere, in milliseconds. */
const flashTime = 2_500;
/** How long changes of repositories that are not open are collected before counting, in milliseconds. */
const countDelay = 300;

let client: RepoconfClient | undefined;
const listeners = new Set<(change: ConfigChanged) => void>();

/** The connection of this window. Throws Error before `connect`. */
export function daemon(): RepoconfClient {
  if (client === undefined) throw new Error("not connected yet");
  return client;
}

/** Calls `listener` for each future change of a repository until the returned function is called. */
export function onChange(listener: (change: ConfigChanged) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Connects with this window's session, loads everything, and keeps it up to date. Resolves when the session ends or when it is
 * called again with another one.
 */
export async function connect(locate: Locate): Promise<void> {
  const { setState } = screenStore;
  client?.close();
  for (;;) {
    const own = new RepoconfClient({ locate, onIndexing: progress => setState({ indexing: knownProgress(progress) }) });
    client = own;
    try {
      await own.connect();
      void watchHeartbeat(own, () => client === own);
      for await (const message of loadAndWatch(own)) await take(message);
    } catch (error) {
      if (client !== own) return;
      // The desktop app creates a new session for its window.
      if (error instanceof RepoconfError && error.code === 1100 && shell === undefined) {
        forgetSession();
        setState({ connection: "ended" });
        return;
      }
      loseConnection();
    }
    own.close();
    await new Promise(resolve => setTimeout(resolve, 1_000));
    if (client !== own) return;
  }
}

/** Loads everything, and returns what happens from then on. It is watched before it is read, so that no change in between is missed. */
async function* loadAndWatch(own: RepoconfClient): AsyncGenerator<WatchMessage, void> {
  // With thousands of repositories it takes a moment until the watch begins; the first rows do not wait for that.
  if (screenStore.getState().repositories === undefined) await showFirstRepositories();
  const begun = Promise.withResolvers<void>();
  const messages = own.watchEverything({ onBegin: begun.resolve });
  // This requests the watch; messages wait there until everything is loaded. It fails if the watch does not begin.
  const first = messages.next();
  first.then(() => begun.resolve(), begun.reject);
  await begun.promise;
  await loadAll();
  for (const repo of screenStore.getState().opened.keys()) await openRepository(repo, true);
  screenStore.setState({ connection: "connected" });
  void loadEdited(own);
  const { value, done } = await first;
  if (done === true) return;
  yield value;
  yield* messages;
}

/** Sessions belong to the owner, so they receive the counts. */
function knownProgress({ done, total }: Partial<IndexingProgress> = {}): IndexingProgress | undefined {
  return done === undefined || total === undefined ? undefined : { done, total };
}

function loseConnection(): void {
  loseDrafts();
  screenStore.setState({ connection: "lost", silentSince: undefined });
}

/** Loads the person's unsaved edits from all windows; each edit is shown beside the stored value. */
async function loadEdited(own: RepoconfClient): Promise<void> {
  await loadDrafts(own);
  await openEdited();
}

async function openEdited(): Promise<void> {
  const repos = new Set(Array.from(screenStore.getState().pending.values(), ({ repo }) => repo));
  try {
    await openRepositories([...repos]);
  } catch {
    // The connection is lost; the next one opens them.
  }
}

async function loadAll(): Promise<void> {
  const [status] = await Promise.all([daemon().run("daemon/status", {}), loadScopes(), loadRepositories()]);
  screenStore.setState({ problems: status.problems ?? [], machine: status.log?.machine });
}

async function loadScopes(): Promise<void> {
  const listed = await daemon().run("scope/list", {});
  const scopes = listed.map(({ scope, schema }) => ({ scope, schema: withMasks(schema) }));
  screenStore.setState({ scopes });
}

/** Enough for the first window, and never more than a page. */
const shownFirst = 100;

async function showFirstRepositories(): Promise<void> {
  const first = await daemon().run("repo/list", { limit: shownFirst });
  screenStore.setState({ firstRepositories: inOrder(first) });
}

async function loadRepositories(): Promise<void> {
  const entries: RepositoryEntry[] = [];
  for await (const page of daemon().repositoryPages()) {
    const sorted = inOrder(page);
    if (entries.length === 0) screenStore.setState({ firstRepositories: sorted });
    // Sorting sorted parts takes a quarter of the time and avoids a long task.
    entries.push(...sorted);
  }
  const repositories = inOrder(entries);
  // Rendered in a separate task, because somebody may be typing.
  await new Promise(resolve => setTimeout(resolve));
  screenStore.setState({ repositories, firstRepositories: [] });
}

/** How many repositories are loaded and shown together. */
const openedAtOnce = 50;

/** Loads a repository's values if they are not loaded yet. */
export async function openRepository(repo: string, again = false): Promise<void> {
  if (again || !screenStore.getState().opened.has(repo)) addOpened([[repo, await fetchRepository(repo)]]);
}

/** Like `openRepository`, for many. */
export async function openRepositories(repos: readonly string[]): Promise<void> {
  const missing = repos.filter(repo => !screenStore.getState().opened.has(repo));
  for (let at = 0; at < missing.length; at += openedAtOnce) {
    const part = missing.slice(at, at + openedAtOnce);
    const fetched = await Promise.all(part.map(async repo => [repo, await fetchRepository(repo)] as const));
    const state = screenStore.getState();
    addOpened(fetched);
    // It changed during the load: changes of a repository that is not open are not applied.
    for (const [repo, { revision }] of fetched)
      if ((findRepository(state, repo)?.revision ?? 0) > revision) await openRepository(repo, true);
  }
}

async function fetchRepository(repo: string): Promise<OpenRepository> {
  const [effective, stored] = await Promise.all([
    daemon().request("config/list", { repo }),
    daemon().request("config/list", { repo, stored: true }),
  ]);
  const { layers } = screenStore.getState().opened.get(repo) ?? {};
  return { effective: effective.result ?? {}, stored: stored.result ?? {}, revision: stored.revision ?? 0, layers };
}

function addOpened(fetched: readonly (readonly [repo: string, OpenRepository])[]): void {
  const byRepo = new Map(fetched);
  const { pending: before } = screenStore.getState();
  screenStore.setState(state => {
    let { pending } = state;
    for (const [repo, { stored }] of fetched) pending = withConflicts(pending, repo, stored);
    return {
      opened: new Map([...state.opened, ...fetched]),
      pending,
      repositories: state.repositories?.map(entry => {
        const opened = byRepo.get(entry.id);
        if (opened === undefined) return entry;
        return { ...entry, revision: opened.revision, modified: countConfigFields(opened.stored) };
      }),
    };
  });
  tellOutcome(before, repo => byRepo.has(repo));
}

async function take(message: WatchMessage): Promise<void> {
  const { setState } = screenStore;
  switch (message[0]) {
    case "config":
      applyChange(message[2]);
      for (const listener of listeners) listener(message[2]);
      return;
    case "repo": {
      const [, event, entry] = message;
      setState(state => ({
        repositories:
          event === "removed"
            ? state.repositories?.filter(({ id }) => id !== entry.id)
            : inOrder([...(state.repositories ?? []).filter(({ id }) => id !== entry.id), entry]),
        // Also those that the daemon does not have yet: it drops its own.
        ...(event === "removed" && {
          pending: new Map([...state.pending].filter(([, { repo }]) => repo !== entry.id)),
          drafts: new Map([...state.drafts].filter(([repo]) => repo !== entry.id)),
        }),
      }));
      // Other values may be active now.
      if (event === "health" && screenStore.getState().opened.has(entry.id)) await openRepository(entry.id, true);
      return;
    }
    case "scope":
      await loadScopes();
      for (const repo of screenStore.getState().opened.keys()) await openRepository(repo, true);
      return;
    case "connection": {
      if (message[1] === "lost") return loseConnection();
      await loadAll();
      for (const repo of message[2].lost) if (screenStore.getState().opened.has(repo)) await openRepository(repo, true);
      setState({ connection: "connected" });
      return loadEdited(daemon());
    }
    case "draft":
      takeDrafts(message[2]);
      return openEdited();
    case "daemon":
      return setState({ problems: message[2].problems });
    case "key":
      return setState(state => ({ keyChanges: state.keyChanges + 1 }));
    case "proposal":
      return setState(state => ({ proposalChanges: state.proposalChanges + 1 }));
  }
}

function applyChange({ repo, revision, changes, actor, machine }: ConfigChanged): void {
  const edits = Object.entries(changes).flatMap(([scope, fields]) =>
    Object.entries(fields).map(([field, change]) => ({ scope, field, ...change })),
  );
  const keys = edits.map(({ scope, field }) => editKey(repo, scope, field));
  const { pending: edited } = screenStore.getState();
  screenStore.setState(state => {
    const before = state.opened.get(repo);
    if (before === undefined) return { repositories: withEntry(state, repo, entry => ({ ...entry, revision })) };
    // Our own saves were applied from the reply.
    if (revision <= before.revision) return {};
    const stored = applyConfigEdits(
      before.stored,
      edits.map(({ scope, field, value, stored: isStored }) => ({ scope, field, value: isStored ? value : undefined })),
    );
    const effective = applyConfigEdits(before.effective, edits);
    return {
      opened: new Map(state.opened).set(repo, { ...before, effective, stored, revision }),
      pending: withConflicts(state.pending, repo, stored, { actor, ...(machine !== undefined && { machine }) }),
      repositories: withEntry(state, repo, entry => ({ ...entry, revision, modified: countConfigFields(stored) })),
      flashes: new Set([...state.flashes, ...keys]),
    };
  });
  tellOutcome(edited, one => one === repo);
  setTimeout(() => {
    screenStore.setState(state => ({ flashes: new Set([...state.flashes].filter(key => !keys.includes(key))) }));
  }, flashTime);
  if (!screenStore.getState().opened.has(repo)) countLater(repo);
}

const uncounted = new Set<string>();

/** Requests the number of fields stored in a repository that is not open. */
function countLater(repo: string): void {
  uncounted.add(repo);
  if (uncounted.size > 1) return;
  setTimeout(async () => {
    const repos = [...uncounted];
    uncounted.clear();
    for (const id of repos) {
      const { result } = await daemon()
        .request("config/list", { repo: id, stored: true })
        // The connection is lost; the next one counts again.
        .catch(() => ({ result: undefined }));
      if (result === undefined) return;
      screenStore.setState(state => ({
        repositories: withEntry(state, id, entry => ({ ...entry, modified: countConfigFields(result) })),
      }));
    }
  }, countDelay);
}

function withEntry(
  state: ScreenState,
  id: string,
  update: (entry: RepositoryEntry) => RepositoryEntry,
): ScreenState["repositories"] {
  return state.repositories?.map(entry => (entry.id === id ? update(entry) : entry));
}
