import { type ChildProcess, execFile, spawn } from "node:child_process";
import { copyFile, mkdir, open, readdir, readFile, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/** How a program ended: `code` is undefined if it was still running at the ceiling, and was ended. */
export interface Ended {
  readonly code: number | null | undefined;
  readonly output: string;
}

const vitest = join(dirname(createRequire(import.meta.url).resolve("vitest/package.json")), "vitest.mjs");

/** A copy of the project to break things in. */
export class ProjectCopy {
  readonly root: string;
  readonly #temporary: string;
  readonly #signal: AbortSignal | undefined;

  private constructor(folder: string, signal: AbortSignal | undefined) {
    this.root = join(folder, "project");
    this.#temporary = join(folder, "tmp");
    this.#signal = signal;
  }

  /** Copies what git knows of and what it does not ignore; node_modules is linked, so that nothing is installed. */
  static async make(project: string, folder: string, signal?: AbortSignal): Promise<ProjectCopy> {
    const copy = new ProjectCopy(folder, signal);
    await mkdir(copy.#temporary, { recursive: true });
    const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    const { stdout } = await promisify(execFile)("git", list, { cwd: project, maxBuffer: 64 * 1024 ** 2 });
    for (const file of new Set(stdout.split("\0"))) if (file !== "") await copyIfThere(project, copy.root, file);
    // A folder of its own, so that what tools keep in there is not shared.
    await mkdir(join(copy.root, "node_modules"), { recursive: true });
    for (const name of await readdir(join(project, "node_modules"))) {
      if (name.startsWith(".") && name !== ".bin") continue;
      await symlink(join(project, "node_modules", name), join(copy.root, "node_modules", name), "junction");
    }
    return copy;
  }

  /** Bundles dist/ as it is on the way to a release. */
  build(ceiling: number): Promise<Ended> {
    return this.#run("npm", ["run", "--silent", "build"], ceiling);
  }

  /** Runs a test file, or those of its tests that have `name` in their title, and writes vitest's report. */
  test(file: string, name: string | undefined, report: string, ceiling: number): Promise<Ended> {
    const named = name === undefined ? [] : ["--testNamePattern", name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")];
    const reporting = ["--reporter", "json", "--outputFile", report];
    return this.#run(process.execPath, [vitest, "run", ...reporting, ...named, file], ceiling);
  }

  /** Where the copy keeps what is of no use later. */
  temporaryFile(name: string): string {
    return join(this.#temporary, name);
  }

  async #run(command: string, args: readonly string[], ceiling: number): Promise<Ended> {
    this.#signal?.throwIfAborted();
    // Not pipes: a daemon that a test left behind would keep them open.
    const path = this.temporaryFile("output");
    await using output = await open(path, "w");
    // A group of its own, so that what it started ends with it.
    const group = process.platform !== "win32";
    const child = spawn(command, args, {
      cwd: this.root,
      env: environment(this.#temporary),
      detached: group,
      shell: !group && command === "npm",
      stdio: ["ignore", output.fd, output.fd],
    });
    let timedOut = false;
    const stop = () => kill(child, group);
    const timer = setTimeout(() => {
      timedOut = true;
      stop();
    }, ceiling);
    this.#signal?.addEventListener("abort", stop, { once: true });
    try {
      const code = await new Promise<number | null>((resolve, reject) => {
        child.once("error", reject);
        child.once("exit", resolve);
      });
      this.#signal?.throwIfAborted();
      return { code: timedOut ? undefined : code, output: await readFile(path, "utf8") };
    } finally {
      clearTimeout(timer);
      this.#signal?.removeEventListener("abort", stop);
    }
  }
}

async function copyIfThere(from: string, to: string, file: string): Promise<void> {
  await mkdir(dirname(join(to, file)), { recursive: true });
  try {
    await copyFile(join(from, file), join(to, file));
  } catch (error) {
    // Deleted, and git has not been told.
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}

/** What a mutant leaves behind goes with the copy, and nothing leads the tests to another build or to the long forms. */
function environment(temporary: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(REPOCONF_|VITEST|NODE_ENV$|TEST$)/.test(name));
  return { ...Object.fromEntries(kept), TMPDIR: temporary, TMP: temporary, TEMP: temporary };
}

function kill(child: ChildProcess, group: boolean): void {
  if (!group || child.pid === undefined) {
    child.kill("SIGKILL");
    return;
  }
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It ended by itself meanwhile.
  }
}
