import type { FileHandle } from "node:fs/promises";
import { type FileSystem, realFileSystem } from "../../main/files/file-system.ts";

const handleOperations = [
  "read",
  "readFile",
  "write",
  "writeFile",
  "truncate",
  "chmod",
  "sync",
  "datasync",
  "close",
] as const;
type HandleOperation = (typeof handleOperations)[number];

/** One call made by a durable write. */
export interface FileCall {
  readonly operation: "open" | "rename" | "unlink" | "readNow" | HandleOperation;
  /** The file's path; for a rename, the old one; for a temporary file in the home, without its random ending. */
  readonly path: string;
}

/** The real file system, with hooks before and after each call. */
export interface WatchedFileSystem extends FileSystem {
  /** All calls so far, in the order in which they began. */
  readonly calls: FileCall[];
  /** Runs before each call, which waits for it (except readNow, which is synchronous). What it throws becomes the call's error. */
  before: (call: FileCall) => void | Promise<void>;
  /** Runs after a successful call. */
  after: (call: FileCall) => void;
  /** Runs after each call, successful or not. */
  ended: (call: FileCall) => void;
  /** How many of the requested bytes one `read` or `write` handles. The system may handle fewer without reporting an error. */
  takes: (call: FileCall, bytes: number) => number;
}

const randomEnding = /(\/tmp\/[^/]+)\.[0-9a-f]{12}\.tmp$/;

export function watchFileSystem(): WatchedFileSystem {
  const calls: FileCall[] = [];
  const run = async <Result>(made: FileCall, real: () => Promise<Result>): Promise<Result> => {
    const call = { ...made, path: made.path.replace(randomEnding, "$1") };
    calls.push(call);
    try {
      // Even a close that fails closes the file.
      const closed = call.operation === "close" ? real() : undefined;
      await closed;
      await watched.before(call);
      const result = await (closed ?? real());
      watched.after(call);
      return result;
    } finally {
      watched.ended(call);
    }
  };
  const watchHandle = (handle: FileHandle, path: string): FileHandle =>
    new Proxy(handle, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        const operation = handleOperations.find(known => known === name);
        if (operation === undefined) return member.bind(target);
        const isShortened = operation === "read" || operation === "write";
        return (...args: unknown[]) => {
          if (isShortened) args[2] = watched.takes({ operation, path }, Number(args[2]));
          return run({ operation, path }, async () => member.apply(target, args));
        };
      },
    });
  const watched: WatchedFileSystem = {
    identityOf: realFileSystem.identityOf,
    identityNow: realFileSystem.identityNow,
    calls,
    before: () => {},
    after: () => {},
    ended: () => {},
    takes: (_call, bytes) => bytes,
    open: (path, flags, mode) =>
      run({ operation: "open", path: String(path) }, async () =>
        watchHandle(await realFileSystem.open(path, flags, mode), String(path)),
      ),
    rename: (from, to) => run({ operation: "rename", path: String(from) }, () => realFileSystem.rename(from, to)),
    // Its final check is a separate call, which `before` receives after this one.
    replace: (temporary, path, assertUnchanged, aside) =>
      run({ operation: "rename", path: temporary }, () =>
        realFileSystem.replace(temporary, path, assertUnchanged, aside),
      ),
    unlink: path => run({ operation: "unlink", path: String(path) }, () => realFileSystem.unlink(path)),
    readNow: (path, length) => {
      const call = { operation: "readNow", path } as const;
      calls.push(call);
      void watched.before(call);
      const bytes = realFileSystem.readNow(path, length);
      watched.after(call);
      return bytes;
    },
  };
  return watched;
}

/** The calls that these are wait from now on, until they are released; `begun` resolves with the first of them. */
export function holdCalls(fileSystem: WatchedFileSystem, isHeld: (call: FileCall) => boolean) {
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  fileSystem.before = async call => {
    if (!isHeld(call)) return;
    begun.resolve();
    await released.promise;
  };
  return { begun: begun.promise, release: () => released.resolve() };
}

/** Whether a repository's new text is about to take its place. */
export const isReplaced = (id: string) => (call: FileCall) =>
  call.operation === "rename" && call.path.endsWith(`/tmp/${id}.json`);

/** An error as the system creates it, such as ENOSPC. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made by the test`), { code });
}
