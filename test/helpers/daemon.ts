import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { createDaemon, type DaemonOptions, type DaemonSurroundings } from "../../main/daemon/daemon.ts";
import { type Grants, type KeyRight, keyRights } from "../../shared/grants.ts";
import type { ConfigChanged, EventMessage, OperationName, OperationResults, Reply } from "../../shared/protocol.ts";
import { homesFolder } from "./homes-in-memory.ts";
import { openSocket, type TestKey } from "./open-socket.ts";
import { patience } from "./patience.ts";

export interface TestDaemonOptions extends Partial<Omit<DaemonOptions, "home" | "logger">>, DaemonSurroundings {
  /** An existing home; it is not deleted at the end. */
  readonly home?: string;
  /** Files that are in the home before the first start, by path; objects are written as JSON. */
  readonly files?: { readonly [path: string]: string | object };
  /** The ids of repositories that are added after the first start. */
  readonly repositories?: readonly string[];
  /** The port preferred in the settings; then no port is required. */
  readonly settingsPort?: number;
}

/** Only watches notice what changes on the disk. */
export const noRescans: TestDaemonOptions = { rescanInterval: 3_600_000 };

export type TestDaemon = Awaited<ReturnType<typeof startTestDaemon>>;

/** A real daemon on a free port and a temporary home, with real clients. `await using` removes everything. */
export async function startTestDaemon(options: TestDaemonOptions = {}) {
  const { home, files = {}, repositories = [], settingsPort, ...daemonOptions } = options;
  const folder = home ?? (await mkdtemp(join(homesFolder, "repoconf-test-")));
  const log: string[] = [];
  const logger = pino({ level: "debug", base: null }, { write: (line: string) => void log.push(line) });
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), typeof content === "string" ? content : JSON.stringify(content));
  }
  if (settingsPort !== undefined)
    await writeFile(join(folder, "settings.json"), JSON.stringify({ port: settingsPort }));
  const port = settingsPort === undefined ? { port: 0 } : {};
  const start = () =>
    createDaemon({ ...port, home: folder, version: "0.0.0-test", logger, ...daemonOptions }, daemonOptions);
  let daemon = await start();
  const readKey = async () => (await readFile(join(folder, "owner.key"), "utf8")).trim();
  let ownerKey = await readKey();
  const clients: TestClient[] = [];

  const connect = async (key: TestKey = ownerKey): Promise<TestClient> => {
    const client = await connectClient(daemon.url, key);
    clients.push(client);
    return client;
  };
  const disconnect = () => {
    for (const client of clients.splice(0)) client.socket.close();
  };
  let owner = await connect();
  let names = 0;

  const t = {
    get daemon() {
      return daemon;
    },
    get url() {
      return daemon.url;
    },
    /** The value of the header Host for the screen: a name that only its links contain. */
    get screenHost() {
      return new URL(daemon.createLink(1)).host;
    },
    get ownerKey() {
      return ownerKey;
    },
    /** A client with the owner's key. */
    get owner() {
      return owner;
    },
    homeFolder: folder,
    /** The lines that the daemon logged. */
    log: log as readonly string[],
    connect,
    /** A client whose key has these grants, and all further rights unless others are given. */
    connectWith: async (grants: Grants, name = `tool ${++names}`, rights: readonly KeyRight[] = keyRights) => {
      const { result } = await owner.call("key/create", { name, grants, rights });
      return connect(result.key);
    },
    /** Adds a repository with the given id or a new one, and returns its id. */
    addRepository: async (id?: string) => {
      const reply = await owner.call("repo/add", { name: id ?? "a repository", ...(id !== undefined && { id }) });
      if (reply.errors.length > 0) throw new Error(JSON.stringify(reply.errors));
      // Waits, so that nothing of it is written during the test's next step.
      await owner.call("file/read", { repo: reply.result.id });
      return reply.result.id;
    },
    repositoryFile: (id: string) => join(folder, "repos", `${id}.json`),
    /** The text of its file, once everything committed is written. */
    readRepository: async (id: string) => {
      // The file is written after a set; the request waits for that.
      if (owner.socket.connected) await owner.call("file/read", { repo: id });
      return readFile(join(folder, "repos", `${id}.json`), "utf8");
    },
    writeRepository: (id: string, text: string) => writeFile(join(folder, "repos", `${id}.json`), text),
    /** Stops the daemon, which disconnects its clients, and starts another on the same home; `meanwhile` runs while there is none. */
    restart: async (meanwhile?: () => Promise<void>) => {
      disconnect();
      await daemon.close();
      await meanwhile?.();
      daemon = await start();
      ownerKey = await readKey();
      owner = await connect();
    },
    [Symbol.asyncDispose]: async () => {
      disconnect();
      await daemon.close();
      if (home === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
  for (const id of repositories) await t.addRepository(id);
  return t;
}

export type TestClient = Awaited<ReturnType<typeof connectClient>>;

/** Like `openSocket`. */
export async function connectClient(url: string, key: TestKey) {
  const socket = await openSocket(url, key);
  const events: EventMessage[] = [];
  socket.on("svc", (...message: EventMessage) => void events.push(message));
  let taken = 0;
  return {
    socket,
    /** Every event received so far. */
    events,
    call: <Name extends OperationName>(
      name: Name,
      args: { readonly [name: string]: unknown } = {},
    ): Promise<Reply<OperationResults[Name]>> => socket.timeout(patience).emitWithAck("svc", ...name.split("/"), args),
    /** Sends the message unchanged, for what the types forbid. */
    emit: (...message: unknown[]): Promise<Reply> => {
      const [event, ...rest] = message;
      return socket.timeout(patience).emitWithAck(String(event), ...rest);
    },
    /** Returns the next `config changed` event that it has not returned yet. Fails if none comes. */
    nextChange: async () => {
      let found: ConfigChanged | undefined;
      await until(() => {
        for (; taken < events.length && found === undefined; taken++) {
          const event = events[taken];
          if (event?.[0] === "config") found = event[2];
        }
        return found !== undefined;
      }, "a config changed event");
      if (found === undefined) throw new Error("unreachable");
      return found;
    },
  };
}

/**
 * Waits until the condition is true; a test that hangs fails, naming what it waited for. It asks ever more rarely, each time after a tenth
 * of the time that it has waited: what it waits for needs the processor too.
 */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const begin = Date.now();
  while (!(await condition())) {
    const waited = Date.now() - begin;
    if (waited > patience) throw new Error(`waited in vain for ${what}`);
    await delay(Math.min(Math.max(waited / 10, 5), 250));
  }
}
