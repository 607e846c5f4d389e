import { join } from "node:path";
import { expect } from "vitest";
import { startTestDaemon, type TestDaemon, type TestDaemonOptions, until } from "./daemon.ts";
import { startNatsServer } from "./nats-server.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export type SharedWorld = Awaited<ReturnType<typeof makeSharedWorld>>;

/**
 * A server and several machines, each with its own home and daemon. `settings`: of the log, on every machine. `serverArguments`: further
 * server arguments, from the server's folder.
 */
export async function makeSharedWorld(settings: object = {}, serverArguments?: (folder: string) => readonly string[]) {
  const stack = new AsyncDisposableStack();
  const server = stack.use(await startNatsServer(serverArguments));
  const folder = stack.use(await temporaryFolder());
  const address = `${server.url}/team`;
  return {
    server,
    address,
    home: (machine: string) => join(folder.path, machine),
    /** Starts the daemon of a machine on its existing home. `own`: the machine's own settings, including `log`. */
    start: async (machine: string, options?: TestDaemonOptions, own: { readonly [name: string]: object } = {}) => {
      const log = { address, machine, ...settings, ...own["log"] };
      const files = { "settings.json": { ...own, log } };
      return startTestDaemon({ clock: server.clock, ...options, home: join(folder.path, machine), files });
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Two machines: `laptop` has added these repositories, and `desk` has them. */
export async function makePair(...repositories: readonly string[]) {
  const stack = new AsyncDisposableStack();
  const world = stack.use(await makeSharedWorld());
  const laptop = stack.use(await world.start("laptop"));
  const desk = stack.use(await world.start("desk"));
  for (const id of repositories) await laptop.addRepository(id);
  await hasRepositories(desk, repositories.length);
  return { ...world, laptop, desk, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

export async function timeoutOf({ owner }: TestDaemon, repo: string): Promise<unknown> {
  const { result } = await owner.call("config/list", { repo, scope: "svc" });
  return result["svc"]?.["timeout"];
}

/** Empty while it cannot be listed. */
export async function historyOf({ owner }: TestDaemon, repo = "shop") {
  return (await owner.call("history/list", { repo, limit: 1_000 })).result ?? [];
}

/** Waits until a daemon has this many repositories. */
export async function hasRepositories({ owner }: TestDaemon, count: number): Promise<void> {
  await until(async () => (await owner.call("repo/list")).result.length === count, `${count} repositories`);
}

/** Waits until a daemon serves this timeout. */
export async function sees(daemon: TestDaemon, repo: string, timeout: number): Promise<void> {
  await until(async () => (await timeoutOf(daemon, repo)) === timeout, `timeout ${timeout}`);
}

export async function set({ owner }: TestDaemon, repo: string, timeout: number, reason = ""): Promise<void> {
  const { errors } = await owner.call("config/set", { repo, "svc.timeout": timeout, ...(reason && { reason }) });
  expect(errors).toEqual([]);
}

/** Waits until a daemon tells that the log cannot be reached, or no longer. */
export async function tellsAway({ owner }: TestDaemon, isAway: boolean): Promise<void> {
  await until(
    async () =>
      (await owner.call("daemon/status")).result.problems?.some(text => text.includes("cannot be reached")) === isAway,
    isAway ? "the problem" : "no problem",
  );
}

/** Erases what a repository's history has of a field that it never had: the stream then begins with a snapshot. */
export async function shorten({ owner }: TestDaemon, repo: string): Promise<void> {
  expect((await owner.call("history/forget", { repo, field: "svc.none" })).errors).toEqual([]);
}
