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

/** One call under a durable write. */
export interface FileCall {
  readonly operation: "open" | "rename" | "unlink" | "readNow" | HandleOperation;
  /** The file's path, of a rename the one it has before; of a temporary file in the home without its random ending. */
  readonly path: string;
}

/** The real file system, with a word before and after each call. */
export interface WatchedFileSystem extends FileSystem {
  /** Every call so far, in the order in which they began. */
  readonly calls: FileCall[];
  /** Runs before each call, which waits for it (but for readNow, which waits for nothing); what it throws becomes the call's failure. */
  before: (call: FileCall) => void | Promise<void>;
  /** Runs when a call has succeeded. */
  after: (call: FileCall) => void;
  /** Runs when a call has ended, one way or the other. */
  ended: (call: FileCall) => void;
  /** How many bytes of those asked for one `read` or `write` takes. The system may take fewer, and reports no error then. */
  takes: (call: FileCall, bytes: number) => number;
}

const randomEnding = /(\/tmp\/[^/]+)\.[0-9a-f]{12}\.tmp$/;

export function watchFileSystem(): WatchedFileSystem {
  const calls: FileCall[] = [];
  const run = async <Result>(made: FileCall, real: () => Promise<Result>): Promise<Result> => {
    const call = { ...made, path: made.path.replace(randomEnding, "$1") };
    calls.push(call);
    try {
      let result: Result;
      if (call.operation === "close") {
        // A close that fails has closed all the same.
        result = await real();
        await watched.before(call);
      } else {
        await watched.before(call);
        result = await real();
      }
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
        const shorten = ([bytes, offset, length, position]: unknown[]) => [
          bytes,
          offset,
          watched.takes({ operation, path }, Number(length)),
          position,
        ];
        if (operation === "read" || operation === "write")
          return (...args: unknown[]) => run({ operation, path }, async () => member.apply(target, shorten(args)));
        return (...args: unknown[]) => run({ operation, path }, async () => member.apply(target, args));
      },
    });
  const watched: WatchedFileSystem = {
    deviceOf: realFileSystem.deviceOf,
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
    // Its last look is another call, which `before` hears of after this one.
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

/** An error as the system gives it, such as ENOSPC. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made by the test`), { code });
}
