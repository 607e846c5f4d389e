import type { Stats } from "node:fs";

/** The length of the text that the build puts at the end of such a file: a hash of what is before it. */
const idLength = 16;

export interface Compiled<Exports> {
  readonly exports: Exports;
  /**
   * Keeps compiled code for the next load, if V8 took none and this user may: of all functions, or of those that have run until now.
   * V8's flags must be as they were at the load.
   */
  keepCode(of: "all functions" | "what has run"): void;
}

/**
 * Loads a file of the build that is a single expression (vite.single-file.config.ts), with the code that V8 has compiled of it before: to
 * compile it takes longer than to run it. That code is in a file beside it, one for each version of V8. Undefined if there is no such build.
 */
export function loadCompiled<Exports>(filename: string): Compiled<Exports> | undefined {
  // Not imported: on a Node that is too old, the entry must still be able to say so.
  const { lstatSync, readFileSync } = process.getBuiltinModule("node:fs");
  const { Script } = process.getBuiltinModule("node:vm");
  let source: string;
  try {
    source = readFileSync(filename, "latin1");
  } catch {
    return undefined;
  }
  const id = source.slice(-idLength);
  const file = `${filename}.${process.versions.v8}-${process.arch}`;
  let cachedData: Buffer | undefined;
  try {
    const stats = lstatSync(file);
    // A pipe would never end.
    const kept = stats.isFile() && isSafe(stats, filename) ? readFileSync(file) : Buffer.of();
    const end = idLength + (kept.length - idLength) / 2;
    const code = kept.subarray(idLength, end);
    // V8 itself would take the code of any text of the same length, and ends the process over code that is damaged. So it is there twice:
    // to compare it takes a tenth of loading a checksum.
    if (kept.toString("latin1", 0, idLength) === id && code.equals(kept.subarray(end))) cachedData = code;
  } catch {
    // Nobody has made it yet.
  }
  const script = new Script(source, { filename, ...(cachedData !== undefined && { cachedData }) });
  // V8 refuses what it compiled with other flags. Nothing below may hold the kept code, which has megabytes.
  const isKept = cachedData !== undefined && script.cachedDataRejected === false;
  return {
    exports: script.runInThisContext()(filename),
    keepCode: of => {
      if (isKept) return;
      write(file, id, () => (of === "all functions" ? compileWhole(source) : script.createCachedData()));
    },
  };
}

/** Has Node keep the compiled code of the modules that it loads from here on, in a folder of the build, if that is this user's. */
export function keepCodeOfModules(build: string): void {
  const { lstatSync, mkdirSync, statSync } = process.getBuiltinModule("node:fs");
  const folder = `${build}/compiled`;
  try {
    // What root leaves in the build of another user, that user could not remove.
    if (statSync(build).uid !== thisUser) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const stats = lstatSync(folder);
    if (stats.isDirectory() && isSafe(stats, build)) process.getBuiltinModule("node:module").enableCompileCache(folder);
  } catch {
    // Nobody may write there.
  }
}

/** Windows has no numbers of users. */
const thisUser = process.getuid?.() ?? 0;

/** Whether only this user, and the owner of the build, may change what is kept there: it runs as this user. */
function isSafe({ uid, mode }: Stats, build: string): boolean {
  const { statSync } = process.getBuiltinModule("node:fs");
  // Windows has no modes: the rights of the folder above count.
  if (process.platform !== "win32" && (mode & 0o022) !== 0) return false;
  return uid === thisUser || uid === statSync(build).uid;
}

/** The code of all functions, also of those that have not run. */
function compileWhole(source: string): Buffer {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  const { Script } = process.getBuiltinModule("node:vm");
  setFlagsFromString("--no-lazy");
  const script = new Script(source);
  // V8 refuses code that was compiled with other flags than its own, so they must be as before when it is written.
  setFlagsFromString("--lazy");
  return script.createCachedData();
}

function write(file: string, id: string, make: () => Buffer): void {
  const { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } = process.getBuiltinModule("node:fs");
  const made = `${file}.${process.pid}`;
  try {
    // Whatever the umask.
    const descriptor = openSync(made, "wx", 0o644);
    const code = make();
    // Unlike writeSync, it fails if a full disk takes only a part.
    writeFileSync(descriptor, Buffer.concat([Buffer.from(id, "latin1"), code, code]));
    fsyncSync(descriptor);
    closeSync(descriptor);
    renameSync(made, file);
  } catch {
    // The command runs without it too.
    rmSync(made, { force: true });
  }
}
