import type { Socket } from "socket.io-client";
import { type ErrorEntry, RepoconfError } from "../../shared/errors.ts";
import { type Call, untilTold } from "./figures.ts";
import type { Prepared } from "./floor-server.ts";
import { repositoryId } from "./homes.ts";
import type { Machine } from "./machine.ts";

interface AnyReply {
  readonly result: unknown;
  /** Where the next page begins. */
  readonly next?: unknown;
  readonly errors: readonly ErrorEntry[];
}

/** Sends one request over a plain socket, to the daemon or the bare server, so that the typed client's own cost is not measured. */
export function ask(socket: Socket, operation: string, args: object): Promise<AnyReply> {
  return new Promise((resolve, reject) => {
    socket.emit("svc", ...operation.split("/"), args, (reply: AnyReply) => {
      const [error] = reply.errors;
      if (error === undefined) resolve(reply);
      else reject(new RepoconfError(error.code, error.message, error));
    });
  });
}

export function prepare(socket: Socket, prepared: Prepared): Promise<void> {
  return new Promise(resolve => socket.emit("prepare", prepared, resolve));
}

/** Calls of one operation for `rateOf`. `args` returns the arguments of each call. */
export function calls(socket: Socket, operation: string, args: (lane: number) => object): Call {
  const [resource, name] = operation.split("/");
  return (lane, done) => {
    socket.emit("svc", resource, name, args(lane), ({ errors: [error] }: AnyReply) =>
      done(error === undefined ? undefined : new Error(`${operation}: ${error.message}`)),
    );
  };
}

/** Sets of one field, each to a new number, so that every set changes something; of the first repository, unless `repo` says another. */
export function sets(socket: Socket, repo: (lane: number) => string = () => repositoryId(0)): Call {
  let count = 0;
  return calls(socket, "config/set", lane => {
    count += 1;
    return { repo: repo(lane), "svc.timeout": count % 86_400 };
  });
}

/** Measures how long it takes from a set to its event at another daemon; `timesOf` measures what is compared with it. */
export async function untilWatched(machine: Machine, here: Socket, there: Socket, repo: string) {
  const { told, timesOf } = untilTold(machine.short ? 20 : 300);
  await ask(there, "config/watch", { repo });
  there.on("svc", (resource: string) => {
    if (resource === "config") told();
  });
  let value = 0;
  const set = () => ask(here, "config/set", { repo, "svc.timeout": ++value % 86_400 });
  return { told, timesOf, own: timesOf("Repoconf", set) };
}

/** The daemon of a home and the bare server, each with a client. */
export async function startPair(machine: Machine, home: string) {
  await using starting = new AsyncDisposableStack();
  const daemon = starting.use(await machine.daemon(home));
  const floor = starting.use(await machine.floor());
  const [ours, bare] = [await daemon.connect(), await floor.connect()];
  starting.defer(() => {
    for (const socket of [ours, bare]) socket.close();
  });
  const started = starting.move();
  return { daemon, floor, ours, bare, [Symbol.asyncDispose]: () => started.disposeAsync() };
}
