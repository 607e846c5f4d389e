/**
 * `npm start`: the desktop app where Electron's runtime is there already and a display exists; else one line that says why
 * not, and the daemon without it, with the same screen at the printed link. Downloads nothing. `npm run desktop` (--desktop)
 * fetches the runtime and insists on it.
 */
import { spawn, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { electronRuntime } from "./electron-runtime.ts";

const project = join(import.meta.dirname, "..");
const insists = process.argv.includes("--desktop");
const passedOn = process.argv.slice(2).filter(argument => argument !== "--desktop");

function hasDisplay(): boolean {
  if (process.platform !== "linux") return true;
  return Boolean(process.env["DISPLAY"] || process.env["WAYLAND_DISPLAY"]);
}

function whyNot(): string | undefined {
  if (electronRuntime() === undefined) return "Electron's runtime is not here (get it with: npm run desktop)";
  if (!hasDisplay()) return "there is no display";
  return undefined;
}

if (insists && electronRuntime() === undefined) {
  process.stderr.write("Fetching Electron's runtime (about 120 MB)...\n");
  const install = createRequire(import.meta.url).resolve("electron/install.js");
  const { status } = spawnSync(process.execPath, [install], {
    stdio: "inherit",
    env: { ...process.env, DEBUG: "@electron/get:*" },
  });
  if (status !== 0 || electronRuntime() === undefined) {
    process.stderr.write("Electron's runtime could not be fetched. The same screen without it: npm start\n");
    process.exit(1);
  }
}

const reason = whyNot();
const path = electronRuntime();
if (reason !== undefined && insists) {
  process.stderr.write(`The desktop app cannot start: ${reason}.\n`);
  process.exit(1);
}
if (reason !== undefined) process.stderr.write(`Without the desktop app, as ${reason}.\n\n`);
const [command, ...args] =
  reason === undefined && path !== undefined
    ? [path, join(project, "dist/electron/main.js"), ...passedOn]
    : [process.execPath, join(project, "dist/repoconf.js"), "daemon", ...passedOn];
// The app takes its home from the environment, as Electron has options of its own.
const home = passedOn[passedOn.indexOf("--home") + 1];
const env = passedOn.includes("--home") && home !== undefined ? { ...process.env, REPOCONF_HOME: home } : process.env;
const child = spawn(command, args, { stdio: "inherit", env });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
child.once("exit", code => process.exit(code ?? 1));
