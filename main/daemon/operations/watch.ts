import { RepoconfError } from "../../../shared/errors.ts";
import { changesAfter, revisionAt } from "../../store/history/repository-history.ts";
import type { Store } from "../../store/store.ts";
import type { Turn, Yielding } from "../../time/yielding.ts";
import { type ConfigService, unknownRepository } from "../config/config-service.ts";
import { openPosition, sealPosition } from "../config/sealed-position.ts";
import type { Operations } from "../socket/dispatch.ts";
import { expectedRevisions, requestedRepositories } from "./config.ts";

/** `config/watch` and `config/unwatch`: docs/protocol.md, "config/watch and events". */
export function watchOperations(
  service: ConfigService,
  store: Store,
  yielding: Yielding,
): Pick<Operations, "config/watch" | "config/unwatch"> {
  return {
    "config/watch": async ({ repo, since, position, progress }, { caller, connection }) => {
      const ids = requestedRepositories(repo);
      const turn = yielding.begin(caller.keyId);
      for (const id of ids ?? []) {
        if (!store.repositories.has(id) || !service.canSee(caller, id)) throw unknownRepository(id);
        // The revision is up to date only once the files have been read.
        await store.repositories.read(id);
      }
      if (ids === undefined) await store.reconciled;
      // The reply must describe a single moment, and checking ten thousand repositories would take too long then.
      const visible = new Map<string, boolean>();
      for (const id of ids ?? [...store.repositories.ids()]) {
        if (turn.isOver) await turn.pass();
        visible.set(id, service.canSee(caller, id));
      }
      const from = new Map<string, number>();
      for (const [id, revision] of expectedRevisions(repo, since, "since")) {
        if (turn.isOver) await turn.pass();
        if (ids?.includes(id) === false) throw unknownRepository(id);
        // A repository that was removed while the watcher was disconnected has no more changes.
        if (!store.repositories.has(id) || !service.canSee(caller, id)) continue;
        // Throws if the changes after it are no longer kept.
        await assertKept(store, id, revision, turn);
        from.set(id, revision);
      }
      const isSeen = (id: string) => store.repositories.has(id) && (visible.get(id) ?? service.canSee(caller, id));
      const seen = () => [...(ids ?? store.repositories.ids())].filter(isSeen);
      const unavailable = new Map<string, unknown>();
      const begin = position ? openPosition(position, store) : undefined;
      // Again for repositories that were added while others were read.
      const isOpen = (id: string) => !from.has(id) && !unavailable.has(id);
      for (let next = seen().filter(isOpen); begin !== undefined && next.length > 0; next = seen().filter(isOpen)) {
        for (const id of next) {
          if (turn.isOver) await turn.pass();
          if (!store.repositories.has(id)) continue;
          try {
            from.set(id, await revisionBehind(store, id, begin, turn));
          } catch (error) {
            unavailable.set(id, error);
          }
        }
      }
      if (unavailable.size > 0) throw firstOf(unavailable);
      const watched = seen();
      const revisions = Object.fromEntries(watched.map(id => [id, store.repositories.revision(id)]));
      // Events begin after the reported revision, so that nothing is lost between here and the reply.
      for (const id of watched) if (!from.has(id)) from.set(id, store.repositories.revision(id));
      connection?.watch(ids, from, { progress: progress ?? false, byPosition: !!position });
      const behind = [...from].filter(([id, revision]) => revision !== revisions[id]);
      // Until all past changes have been sent, a later watch must continue from where this one began.
      const reached = behind.length === 0 ? store.position : begin;
      return {
        result: {
          revisions,
          ...(begin && { since: Object.fromEntries(behind) }),
          ...(reached && { position: sealPosition(reached) }),
        },
      };
    },

    "config/unwatch": ({ repo }, { connection }) => {
      connection?.unwatch(requestedRepositories(repo));
      return { result: {} };
    },
  };
}

/** The error of the first repository. If there are more, `details.repos` names all, so that a client can leave them out at once. */
function firstOf(unavailable: ReadonlyMap<string, unknown>): unknown {
  const [first] = unavailable.values();
  if (!(first instanceof RepoconfError) || unavailable.size === 1) return first;
  const { code, message, repo, details } = first;
  const repos = [...unavailable.keys()];
  return new RepoconfError(code, message, { ...(repo !== undefined && { repo }), details: { ...details, repos } });
}

/** The revision that a repository had at a position. Throws RepoconfError 1110 if the changes after it are no longer kept. */
async function revisionBehind(store: Store, id: string, position: string, turn: Turn): Promise<number> {
  const revision = await revisionAt(store.repositories.require(id), store.log.id, position, turn);
  if (revision !== store.repositories.revision(id)) await assertKept(store, id, revision, turn);
  return revision;
}

/** Throws RepoconfError 1110 or 1112 if the changes after a revision cannot be read. */
async function assertKept(store: Store, id: string, revision: number, turn: Turn): Promise<void> {
  // One change is enough; leaving the loop closes the journal's file.
  for await (const _ of changesAfter(await store.repositories.load(id), revision, turn)) return;
}
