import { type ChildProcess, execFile, spawn } from "node:child_process";
import { copyFile, mkdir, open, readdir, readFile, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/** How a process ended: `code` is undefined if it was killed because of the timeout. */
export interface ProcessResult {
  readonly code: number | null | undefined;
  readonly output: string;
}

const vitest = join(dirname(createRequire(import.meta.url).resolve("vitest/package.json")), "vitest.mjs");

/** A copy of the project in which mutants are applied. */
export class ProjectCopy {
  readonly root: string;
  readonly #temporary: string;
  readonly #signal: AbortSignal | undefined;

  private constructor(folder: string, signal: AbortSignal | undefined) {
    this.root = join(folder, "project");
    this.#temporary = join(folder, "tmp");
    this.#signal = signal;
  }

  /** Copies the files that git tracks or does not ignore. The packages in node_modules are linked, so nothing needs to be installed. */
  static async make(project: string, folder: string, signal?: AbortSignal): Promise<ProjectCopy> {
    const copy = new ProjectCopy(folder, signal);
    await mkdir(copy.#temporary, { recursive: true });
    const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    const { stdout } = await promisify(execFile)("git", list, { cwd: project, maxBuffer: 64 * 1024 ** 2 });
    for (const file of new Set(stdout.split("\0"))) if (file !== "") await copyIfExists(project, copy.root, file);
    // A real folder with links inside, so that caches that tools keep in node_modules are not shared.
    await mkdir(join(copy.root, "node_modules"), { recursive: true });
    for (const name of await readdir(join(project, "node_modules"))) {
      if (name.startsWith(".") && name !== ".bin") continue;
      await symlink(join(project, "node_modules", name), join(copy.root, "node_modules", name), "junction");
    }
    return copy;
  }

  /** Builds dist/ as for a release. */
  build(timeout: number): Promise<ProcessResult> {
    return this.#run("npm", ["run", "--silent", "build"], timeout);
  }

  /** Runs a test file, or only its tests whose title contains `name`, until one fails, and writes vitest's JSON report. */
  test(file: string, name: string | undefined, report: string, timeout: number): Promise<ProcessResult> {
    const named = name === undefined ? [] : ["--testNamePattern", name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")];
    const reporting = ["--bail", "1", "--reporter", "json", "--outputFile", report];
    return this.#run(process.execPath, [vitest, "run", ...reporting, ...named, file], timeout);
  }

  /** The path of a temporary file that is deleted with the copy. */
  temporaryFile(name: string): string {
    return join(this.#temporary, name);
  }

  async #run(command: string, args: readonly string[], timeout: number): Promise<ProcessResult> {
    this.#signal?.throwIfAborted();
    // A file and not pipes, which a daemon that a test left running would keep open.
    const path = this.temporaryFile("output");
    await using output = await open(path, "w");
    // Its own process group, so that the processes it starts can be killed with it.
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
    }, timeout);
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

async function copyIfExists(from: string, to: string, file: string): Promise<void> {
  await mkdir(dirname(join(to, file)), { recursive: true });
  try {
    await copyFile(join(from, file), join(to, file));
  } catch (error) {
    // Deleted, but git still tracks it.
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}

/** How long the tests wait for something, in milliseconds: many mutants are killed because it never happens. */
const patience = 30_000;

/** Temporary files of the tests are deleted with the copy, and no variable points them to another build or selects the full numbers. */
function environment(temporary: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(REPOCONF_|VITEST|NODE_ENV$|TEST$)/.test(name));
  const folders = { TMPDIR: temporary, TMP: temporary, TEMP: temporary };
  return { ...Object.fromEntries(kept), ...folders, TEST_PATIENCE: String(patience) };
}

function kill(child: ChildProcess, group: boolean): void {
  if (!group || child.pid === undefined) {
    child.kill("SIGKILL");
    return;
  }
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}
