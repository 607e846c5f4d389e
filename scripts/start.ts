/**
 * `npm start`: starts the desktop app if Electron's runtime is installed and there is a display. Otherwise prints why not and starts
 * the daemon, which serves the same screen at the link that it prints. Downloads nothing. `npm run desktop` (--desktop) downloads the
 * runtime, and fails if the desktop app cannot start.
 */
import { spawn, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { homeFolder } from "../main/home/home.ts";
import { electronRuntime } from "./electron-runtime.ts";

const project = join(import.meta.dirname, "..");
const requiresDesktop = process.argv.includes("--desktop");
const forwardedArguments = process.argv.slice(2).filter(argument => argument !== "--desktop");

function hasDisplay(): boolean {
  if (process.platform !== "linux") return true;
  return Boolean(process.env["DISPLAY"] || process.env["WAYLAND_DISPLAY"]);
}

function reasonAgainstDesktop(): string | undefined {
  if (electronRuntime() === undefined) return "Electron's runtime is not installed (install it with: npm run desktop)";
  if (!hasDisplay()) return "there is no display";
  return undefined;
}

function requestedHome(path: string): string {
  try {
    return homeFolder(path);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}

if (requiresDesktop && electronRuntime() === undefined) {
  process.stderr.write("Downloading Electron's runtime (about 120 MB)...\n");
  const install = createRequire(import.meta.url).resolve("electron/install.js");
  const { status } = spawnSync(process.execPath, [install], {
    stdio: "inherit",
    env: { ...process.env, DEBUG: "@electron/get:*" },
  });
  if (status !== 0 || electronRuntime() === undefined) {
    process.stderr.write(
      "Electron's runtime could not be downloaded. To use the same screen in a browser: npm start\n",
    );
    process.exit(1);
  }
}

const reason = reasonAgainstDesktop();
const path = electronRuntime();
if (reason !== undefined && requiresDesktop) {
  process.stderr.write(`The desktop app cannot start: ${reason}.\n`);
  process.exit(1);
}
if (reason !== undefined) process.stderr.write(`Starting without the desktop app: ${reason}.\n\n`);
const [command, ...args] =
  reason === undefined && path !== undefined
    ? [path, join(project, "dist/electron/main.js"), ...forwardedArguments]
    : [process.execPath, join(project, "dist/repoconf.js"), "daemon", ...forwardedArguments];
// The app gets its home from the environment, because Electron parses command line options itself.
const { home } = parseArgs({ args: forwardedArguments, options: { home: { type: "string" } }, strict: false }).values;
// Options for Node are those of the terminal's other programs: they could open a debugger in the daemon or load code into it.
const { NODE_OPTIONS: _, ...environment } = process.env;
const env = typeof home === "string" ? { ...environment, REPOCONF_HOME: requestedHome(home) } : environment;
const child = spawn(command, args, { stdio: "inherit", env });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
child.once("exit", code => process.exit(code ?? 1));
