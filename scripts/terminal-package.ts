import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { extract } from "tar";

const project = join(import.meta.dirname, "..");

/** Of a package, as `npm pack` tells. */
export interface Packed {
  readonly filename: string;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

/** Runs npm in the project's folder and returns what it prints. */
export async function npm(...args: string[]): Promise<string> {
  // npm is a script on Windows.
  const options = { cwd: project, maxBuffer: 64 * 1024 * 1024, shell: process.platform === "win32" };
  return (await promisify(execFile)("npm", args, options)).stdout;
}

/**
 * Packs what is built into the package for the terminal. Its package.json has no scripts and no development dependencies:
 * they are of use in a work tree alone, and `prepare` is run by more than those who build (npm rebuild, other package managers).
 * So the work tree is private, and this package is not.
 */
export async function packForTerminal(destination: string): Promise<Packed> {
  const pack = async (what: string, to: string): Promise<Packed> => {
    const output = await npm("pack", what, "--json", "--ignore-scripts", "--pack-destination", to);
    const [packed]: [Packed] = JSON.parse(output);
    return packed;
  };
  const scratch = await mkdtemp(join(tmpdir(), "repoconf-pack-"));
  try {
    const { filename } = await pack(project, scratch);
    await extract({ file: join(scratch, filename), cwd: scratch });
    const file = join(scratch, "package", "package.json");
    const shipped = JSON.parse(await readFile(file, "utf8"));
    for (const name of ["private", "scripts", "devDependencies", "allowScripts"]) delete shipped[name];
    await writeFile(file, `${JSON.stringify(shipped, null, 2)}\n`);
    return await pack(join(scratch, "package"), destination);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
