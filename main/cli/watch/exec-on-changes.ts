import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import type { Config } from "../../../shared/config.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { ConfigChanged, RepositoryEntry } from "../../../shared/protocol.ts";
import { batchVariable } from "../output/changes.ts";
import { printNote } from "../output/terminal.ts";
import { ChildCommand } from "../system/child-command.ts";
import { lockWatchState, readWatchState, type WatchState, writeWatchState } from "./watch-state.ts";

export interface ExecOptions {
  readonly client: RepoconfClient;
  readonly repository: RepositoryEntry;
  readonly command: readonly string[];
  /** More variables for the command. */
  readonly environment: { readonly [name: string]: string };
  /** The revision to start after if there is no state. */
  readonly since?: number | undefined;
  readonly stateFile?: string | undefined;
  /** Whether changes that the command makes itself start it again. */
  readonly ownChanges: boolean;
  /** Ends it; a running command is stopped, and not counted as done. */
  readonly stop: AbortController;
  /** What of a change the command gets; undefined: nothing. */
  show(change: ConfigChanged): ConfigChanged | undefined;
  showConfig(config: Config): Config;
}

/** All values, where the history does not reach back to what the command has seen. */
interface WholeState {
  readonly repo: string;
  readonly revision: number;
  readonly whole: true;
  readonly config: Config;
}

type Reached = Pick<WatchState, "revision" | "position">;

/** Something that happened; it is handled without the command if there is nothing to show. */
interface Waiting extends Reached {
  readonly shown?: ConfigChanged | WholeState;
}

const firstPause = 1_000;
const longestPause = 300_000;

/**
 * Runs the command for the changes of a repository, once at a time, with all that is waiting, until `stop`. A command that fails gets the
 * same changes again, and those made meanwhile. Returns the exit code of a command that cannot be started, else 0.
 */
export async function execOnChanges(options: ExecOptions): Promise<number> {
  const lock = options.stateFile === undefined ? undefined : lockWatchState(options.stateFile);
  return exec(options).finally(() => lock?.release());
}

async function exec(options: ExecOptions): Promise<number> {
  const { client, repository, stop, stateFile } = options;
  const repo = repository.id;
  const stored = stateFile === undefined ? undefined : await readWatchState(stateFile, repo);
  const { batch = `repoconf watch --exec ${randomUUID()}` } = stored ?? {};
  const own = options.ownChanges ? undefined : await batchId(client, repo, batch);
  const save = async ({ revision, position }: Reached) => {
    if (stateFile !== undefined)
      await writeWatchState(stateFile, { repo, revision, ...(position !== undefined && { position }), batch });
  };
  const waiting: Waiting[] = [];
  let wake = Promise.withResolvers<void>();
  let running: ChildCommand | undefined;
  const stopped = Promise.withResolvers<void>();
  stop.signal.addEventListener("abort", () => {
    void running?.stop();
    stopped.resolve();
  });
  const add = (one: Waiting) => {
    waiting.push(one);
    wake.resolve();
  };

  async function collect(): Promise<void> {
    let from: Reached = stored ?? (await present(client, repo));
    if (stored === undefined && options.since !== undefined) from = { revision: options.since };
    // What changes before the first run must not be missed after a restart, nor is the command to run if nobody can note that it did.
    await save(from);
    while (!stop.signal.aborted) {
      try {
        for await (const change of client.watch({ ...startAfter(from, repo), repo, signal: stop.signal })) {
          const { revision, position = from.position, source } = change;
          from = { revision, ...(position !== undefined && { position }) };
          // Nobody knows what a recovery changed.
          if (source === "recovery") {
            from = await addWholeState();
            break;
          }
          const isOwn = change.batch !== undefined && change.batch === own;
          const shown = isOwn ? undefined : options.show(change);
          add({ ...from, ...(shown !== undefined && { shown }) });
        }
      } catch (error) {
        if (!(error instanceof RepoconfError) || (error.code !== 1110 && error.code !== 1112)) throw error;
        from = await addWholeState();
      }
    }
  }

  async function addWholeState(): Promise<Reached> {
    // First the position, so that everything after it comes as a change.
    const { position } = await present(client, repo);
    const reply = await client.request("config/list", { repo });
    const [first] = reply.errors;
    if (first !== undefined) throw new RepoconfError(first.code, first.message, first);
    const { revision = 0 } = reply;
    const reached = { revision, ...(position !== undefined && { position }) };
    printNote("The history does not reach back to what the command has seen, so it gets all values.");
    add({ ...reached, shown: { repo, revision, whole: true, config: options.showConfig(reply.result) } });
    return reached;
  }

  async function runAll(): Promise<number> {
    let failures = 0;
    for (;;) {
      await Promise.race([wake.promise, stopped.promise]);
      if (stop.signal.aborted) return 0;
      wake = Promise.withResolvers<void>();
      const taken = waiting.slice();
      const last = taken.at(-1);
      if (last === undefined) continue;
      const shown = taken.flatMap(one => one.shown ?? []);
      const child = shown.length === 0 ? undefined : start(shown, last.revision);
      const code = (await child?.ended) ?? 0;
      running = undefined;
      if (child?.hasStarted === false) return code;
      // Whatever code it exits with when it is stopped: it may not have come to the end.
      if (child !== undefined && stop.signal.aborted) return 0;
      if (code === 0) {
        failures = 0;
        waiting.splice(0, taken.length);
        await save(last);
        continue;
      }
      const pause = Math.min(firstPause * 2 ** failures, longestPause);
      failures += 1;
      printNote(
        `${options.command[0]} exited with ${code}. It gets these changes again in ${pause / 1_000} s, with those made until then.`,
      );
      await delay(pause, undefined, { signal: stop.signal }).catch(() => undefined);
      wake.resolve();
    }
  }

  function start(shown: readonly (ConfigChanged | WholeState)[], revision: number): ChildCommand {
    const isWhole = shown.some(one => "whole" in one);
    const environment = {
      ...options.environment,
      REPOCONF_REPO: repo,
      REPOCONF_REVISION: String(revision),
      REPOCONF_WHOLE: isWhole ? "1" : "",
      [batchVariable]: batch,
    };
    // What came before all values is in them.
    const from = shown.findLastIndex(one => "whole" in one);
    const child = new ChildCommand(options.command, environment, {
      input: `${JSON.stringify(shown.slice(Math.max(0, from)))}\n`,
    });
    running = child;
    return child;
  }

  const collecting = collect().finally(() => stop.abort());
  try {
    return await runAll();
  } finally {
    stop.abort();
    await collecting;
  }
}

function startAfter({ revision, position }: Reached, repo: string) {
  return position === undefined ? { since: revision } : { position, since: { [repo]: revision } };
}

/** The newest revision and its position. */
async function present(client: RepoconfClient, repo: string): Promise<Reached> {
  const { revisions, position } = await client.run("config/watch", { repo });
  return { revision: revisions[repo] ?? 0, ...(position !== undefined && { position }) };
}

/** What events call this batch if this key makes it; undefined if the key cannot change anything. */
async function batchId(client: RepoconfClient, repo: string, batch: string): Promise<string | undefined> {
  const [field] = (await client.run("scope/list", {})).flatMap(({ scope, schema }) =>
    Object.keys(schema.properties).map(name => `${scope}.${name}`),
  );
  if (field === undefined) return undefined;
  const { result } = await client.request("config/unset", { repo, fields: [field], batch, dryRun: true });
  return result[0]?.batch;
}
