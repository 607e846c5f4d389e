import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { extract } from "tar";
import { removeReplacedChunks } from "./publish-build.ts";

const project = join(import.meta.dirname, "..");

/** What `npm pack --json` reports about a package. */
interface Packed {
  readonly filename: string;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

/** Runs npm in the project's folder and returns what it prints. */
export async function npm(...args: string[]): Promise<string> {
  // On Windows npm is a script, which only a shell can run.
  const options = { cwd: project, maxBuffer: 64 * 1024 * 1024, shell: process.platform === "win32" };
  return (await promisify(execFile)("npm", args, options)).stdout;
}

/**
 * Packs the build into the npm package. Its package.json has no scripts and no devDependencies: they are only useful in a work tree,
 * and some tools run `prepare` on installed packages (npm rebuild, other package managers), where nothing can be built. The work
 * tree's package.json is private, so that only this package can be published.
 */
export async function packForTerminal(destination: string): Promise<Packed> {
  const pack = async (what: string, to: string): Promise<Packed> => {
    const output = await npm("pack", what, "--json", "--ignore-scripts", "--pack-destination", to);
    const [packed]: [Packed] = JSON.parse(output);
    return packed;
  };
  await removeReplacedChunks(join(project, "dist"));
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
