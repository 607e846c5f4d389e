type OneShot = typeof import("./one-shot/run.ts");

/** The length of the text that the build puts at the end of one-shot.js: a hash of what is before it. */
const idLength = 16;

/**
 * Loads the short way from its file of the build, with the code that V8 has compiled of it before: to compile it takes longer than to run it.
 * That code is in a file beside it, one for each version of V8, which the build makes, or the first command with another version. Undefined if
 * there is no such build.
 */
export function loadOneShot(filename: string): OneShot | undefined {
  // Not imported: on a Node that is too old, the entry must still be able to say so.
  const { readFileSync } = process.getBuiltinModule("node:fs");
  const { Script } = process.getBuiltinModule("node:vm");
  let source: string;
  try {
    source = readFileSync(filename, "utf8");
  } catch {
    return undefined;
  }
  const id = source.slice(-idLength);
  const file = `${filename}.${process.versions.v8}-${process.arch}`;
  let cachedData: Buffer | undefined;
  try {
    const kept = readFileSync(file);
    // V8 itself would take the code of any text of the same length.
    if (kept.toString("latin1", 0, idLength) === id) cachedData = kept.subarray(idLength);
  } catch {
    // Nobody has made it yet.
  }
  if (cachedData === undefined) keepCode(source, file, id);
  return new Script(source, { filename, ...(cachedData !== undefined && { cachedData }) }).runInThisContext();
}

/** Compiles all of it, and writes that, if this user may. */
function keepCode(source: string, file: string, id: string): void {
  const { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } = process.getBuiltinModule("node:fs");
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  const { Script } = process.getBuiltinModule("node:vm");
  const made = `${file}.${process.pid}`;
  try {
    const descriptor = openSync(made, "wx");
    setFlagsFromString("--no-lazy");
    const script = new Script(source);
    // V8 refuses code that was compiled with other flags than its own, so they must be as before when it is written.
    setFlagsFromString("--lazy");
    writeSync(descriptor, Buffer.concat([Buffer.from(id, "latin1"), script.createCachedData()]));
    fsyncSync(descriptor);
    closeSync(descriptor);
    renameSync(made, file);
  } catch {
    // The command runs without it too.
    rmSync(made, { force: true });
  }
}
