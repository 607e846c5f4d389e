/**
 * `npm run build [-- PART...]`: builds dist/, or only these parts of it. The build is made in a folder beside dist/ and moved there once
 * it is whole (scripts/publish-build.ts), so commands and daemons that run from dist/ go on, and a build that fails changes nothing.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { build, mergeConfig, type UserConfig } from "vite";
import browser from "../vite.browser.config.ts";
import command from "../vite.config.ts";
import electron from "../vite.electron.config.ts";
import preload from "../vite.preload.config.ts";
import screen from "../vite.renderer.config.ts";
import singleFiles from "../vite.single-file.config.ts";
import { publishBuild } from "./publish-build.ts";

const project = join(import.meta.dirname, "..");
const dist = join(project, "dist");

/** What each part of the build puts into a folder. */
const parts: { readonly [name: string]: (folder: string) => Promise<void> } = {
  command: async folder => {
    for (const file of singleFiles) await bundle(file, folder);
    await bundle(command, folder);
    const entry = join(folder, "repoconf.js");
    await makeExecutable(entry);
    // Makes the file of compiled code (main/cli/load-compiled.ts) for this Node. The other two are made by the first daemon.
    await once(spawn(process.execPath, [entry, "hook", "bash"], { stdio: "ignore" }), "exit");
  },
  browser: folder => bundle(browser, join(folder, "browser")),
  screen: folder => bundle(screen, join(folder, "screen")),
  electron: async folder => {
    await bundle(electron, join(folder, "electron"));
    await bundle(preload, join(folder, "electron"));
  },
  types: folder => writeDeclarations(join(folder, "types")),
};

async function bundle(config: UserConfig, outDir: string): Promise<void> {
  const merged = mergeConfig(config, { build: { outDir, emptyOutDir: false } });
  await build({ ...merged, configFile: false, logLevel: "warn" });
}

/** `npm link` makes a link to the file: without this, each build would take the command's right to run. */
async function makeExecutable(file: string): Promise<void> {
  const { mode } = await stat(file);
  // For everyone who may read it.
  await chmod(file, mode | ((mode & 0o444) >> 2));
}

async function writeDeclarations(folder: string): Promise<void> {
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  const args = [tsc, "-p", "tsconfig.declarations.json", "--outDir", folder];
  const [code] = await once(spawn(process.execPath, args, { stdio: "inherit" }), "exit");
  if (code !== 0) throw new Error("The declarations of the client cannot be made.");
}

/** Removes what builds that were killed left beside dist/. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(project)) {
    const pid = /^dist\.new-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(project, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

const asked = process.argv.slice(2);
const unknown = asked.find(name => !Object.hasOwn(parts, name));
if (unknown !== undefined) {
  process.stderr.write(`There is no part ${unknown}. The parts of the build: ${Object.keys(parts).join(", ")}\n`);
  process.exit(2);
}
// The configurations name files relative to it.
process.chdir(project);
await removeLeftovers();
const made = join(project, `dist.new-${process.pid}`);
try {
  await mkdir(made);
  for (const [name, make] of Object.entries(parts)) if (asked.length === 0 || asked.includes(name)) await make(made);
  await publishBuild(made, dist);
  // What Node has compiled of the build before (keepCodeOfModules in main/cli/load-compiled.ts).
  await rm(join(dist, "compiled"), { recursive: true, force: true });
} finally {
  await rm(made, { recursive: true, force: true });
}
