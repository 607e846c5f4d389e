import { RepoconfError } from "../../../shared/errors.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { Store } from "../../store/store.ts";
import type { Clock } from "../../time/clock.ts";
import type { Yielding } from "../../time/yielding.ts";
import { ConfigChanges } from "../config/config-changes.ts";
import type { ConfigService } from "../config/config-service.ts";
import type { Drafts } from "../config/drafts.ts";
import type { FolderMarks } from "../folders/folder-marks.ts";
import { RepositoryFinder } from "../folders/repository-finder.ts";
import type { Worktrees } from "../folders/worktrees.ts";
import type { DaemonServer } from "../http/server.ts";
import type { Proposals } from "../rights/proposals.ts";
import { RevisionBudget } from "../rights/revision-budget.ts";
import type { RunState } from "../run-state.ts";
import type { Operations, Outcome, RequestContext } from "../socket/dispatch.ts";
import { configOperations } from "./config.ts";
import { type DaemonOperationsOptions, daemonOperations } from "./daemon.ts";
import { draftOperations } from "./draft.ts";
import { fileOperations } from "./file.ts";
import { historyOperations } from "./history.ts";
import { hookOperations } from "./hook.ts";
import { type KeyOperationsOptions, keyOperations } from "./key.ts";
import { proposalOperations } from "./proposal.ts";
import { repositoryOperations } from "./repo.ts";
import { scopeOperations } from "./scope.ts";
import { sessionOperations } from "./session.ts";
import { trustOperations } from "./trust.ts";
import { watchOperations } from "./watch.ts";

/** What the operations on repositories and their values need. */
interface RepositoryOperationsOptions {
  readonly store: Store;
  readonly scopes: Scopes;
  readonly service: ConfigService;
  readonly drafts: Drafts;
  readonly yielding: Yielding;
  readonly clock: Clock;
  readonly runState: RunState;
  readonly folders: { readonly marks: FolderMarks; readonly worktrees: Worktrees };
}

interface AccessOperationsOptions extends KeyOperationsOptions {
  readonly proposals: Proposals;
  readonly server: DaemonServer;
}

/** Every operation by its name: those on repositories, those on keys and sessions, and those on the daemon. */
export function createOperations(
  { store, scopes, service, drafts, yielding, clock, runState, folders }: RepositoryOperationsOptions,
  access: AccessOperationsOptions,
  daemon: DaemonOperationsOptions,
): Operations {
  const { proposals } = access;
  const changes = new ConfigChanges(store, scopes, proposals, new RevisionBudget(clock, store.retention), yielding);
  const { marks, worktrees } = folders;
  const finder = new RepositoryFinder(marks.index, service, { store, worktrees });
  const all: Operations = {
    ...configOperations(service, changes, scopes, yielding, clock),
    ...watchOperations(service, store, yielding),
    ...historyOperations(service, changes, store, scopes, yielding, clock),
    ...repositoryOperations(service, store, { finder, marks }, () => runState.assertRunning()),
    ...hookOperations(service, { finder, marks }, scopes, daemon.held.home),
    ...fileOperations(store),
    ...scopeOperations(scopes),
    ...draftOperations(drafts),
    ...trustOperations(store, scopes, yielding, worktrees),
    ...proposalOperations(proposals, changes, store, scopes),
    ...sessionOperations(access.authentication.sessions, access.server),
    ...keyOperations(access),
    ...daemonOperations(daemon),
  };
  return { ...all, ...byPath(all, finder) };
}

/** They take `path`, a folder in the repository, instead of `repo`; then the reply has the repository's id as `repo`. */
const readingPaths = ["config/list", "config/explain", "history/list"] as const;
const changingPaths = ["config/set", "config/unset", "history/restore"] as const;

function byPath(all: Operations, finder: RepositoryFinder): Partial<Operations> {
  type Run = (
    args: { readonly repo?: unknown; readonly path?: string | null; readonly waits?: boolean | null },
    context: RequestContext,
  ) => Promise<Outcome<unknown>>;
  const run = (operation: Run, isChange: boolean): Run => {
    const withPath = async (args: Parameters<Run>[0], path: string, context: RequestContext) => {
      if (args.repo) throw new RepoconfError(1101, "Give repo or path, not both.");
      const { id: repo, linked } = isChange
        ? { id: await finder.findToChange(context.caller, path) }
        : await finder.find(context.caller, path);
      const ofWorktree = args.waits && linked ? { linked } : {};
      return { ...(await operation({ ...args, repo }, context)), repo, ...ofWorktree };
    };
    return (args, context) => (args.path ? withPath(args, args.path, context) : operation(args, context));
  };
  return Object.fromEntries([
    ...readingPaths.map(name => [name, run(all[name] as Run, false)]),
    ...changingPaths.map(name => [name, run(all[name] as Run, true)]),
  ]);
}
