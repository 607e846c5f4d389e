import { RequestError } from "../../../shared/client/request-error.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { OperationArguments, OperationName, RepositoryEntry } from "../../../shared/protocol.ts";
import type { UndoOptions } from "../change/undo-batch.ts";
import type { RepositoryOptions, SessionOptions } from "../command-options.ts";
import { type ExplainOptions, printExplanation } from "../commands/explain.ts";
import { type HistoryOptions, printHistory } from "../commands/history.ts";
import { type ListOptions, printList } from "../commands/list.ts";
import { findLastChange, undoChange } from "../commands/undo.ts";
import type { Requests } from "../connect/requests.ts";
import { layerOf } from "../output/changes.ts";
import { askDaemon, isChange, placeIn } from "./ask-daemon.ts";

/** A command about one repository, with the functions that its long way calls too. */
type Work<Options> = (
  client: Requests,
  repository: RepositoryEntry,
  operands: readonly string[],
  options: Options,
) => Promise<void>;

/** Thrown while nothing is printed or changed. */
class TakeLongWay extends Error {}

/** A command of several requests, each of one shot. The long way knows better what to say of a repository that cannot be found. */
const aboutRepository =
  <Options extends SessionOptions & RepositoryOptions>(work: Work<Options>) =>
  async (operands: readonly string[], options: Options): Promise<boolean> => {
    const repository = await findRepository(options);
    if (repository === undefined) return false;
    try {
      await work(requestsWith(options), repository, operands, options);
      return true;
    } catch (error) {
      if (error instanceof TakeLongWay) return false;
      throw error;
    }
  };

/** `repoconf list`. */
export const list = aboutRepository<ListOptions>((client, repository, [wanted], options) =>
  printList(client, repository, wanted, options),
);

/** `repoconf explain`. */
export const explain = aboutRepository<ExplainOptions>((client, repository, [field = ""], options) =>
  printExplanation(client, repository, field, options),
);

const showHistory = aboutRepository<HistoryOptions>((client, repository, [field], options) =>
  printHistory(client, repository, field, options),
);

/** `repoconf history`, without its subcommand. */
export const history = async (operands: readonly string[], options: HistoryOptions): Promise<boolean> =>
  operands[0] !== "forget" && showHistory(operands, options);

/** `repoconf undo`. */
export const undo = aboutRepository<UndoOptions>(async (client, repository, _none, options) => {
  // It says why nothing is undone in a linked worktree without values of its own.
  if ("worktree" in repository) throw new TakeLongWay();
  const last = await findLastChange(client, repository, layerOf(options));
  // Which other repositories a batch changed takes a search.
  if (last.batch !== undefined) throw new TakeLongWay();
  await undoChange(client, repository, last, options, async () => undefined);
});

async function findRepository(options: SessionOptions & RepositoryOptions): Promise<RepositoryEntry | undefined> {
  const place = placeIn(options);
  if (place === undefined) return undefined;
  if ("repo" in place) {
    const listed = await askDaemon("repo/list", place, options);
    return listed?.errors.length === 0 ? listed.result[0] : undefined;
  }
  const found = await askDaemon("repo/find", place, options);
  return found?.errors.length === 0 ? found.result : undefined;
}

function requestsWith(options: SessionOptions): Requests {
  let hasChanged = false;
  const request = async <Name extends OperationName>(name: Name, args: OperationArguments<Name>) => {
    const reply = await askDaemon(name, args, options);
    if (reply === undefined && hasChanged) throw unknownChange();
    if (reply === undefined) throw new TakeLongWay();
    hasChanged ||= isChange(name);
    return reply;
  };
  return {
    request,
    run: async (name, args) => {
      const reply = await request(name, args);
      const [first] = reply.errors;
      if (first !== undefined) throw new RequestError(first, reply);
      return reply.result;
    },
  };
}

/** The long way would make the change once more. */
function unknownChange(): RepoconfError {
  const message = "The change was made, but the daemon does not answer any more. To see it: repoconf history";
  return new RepoconfError(1200, message);
}
