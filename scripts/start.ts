/**
 * `npm start`: the desktop app where Electron's runtime is there already and a display exists; else one line that says why
 * not, and the daemon without it, with the same screen at the printed link. Downloads nothing. `npm run desktop` (--desktop)
 * fetches the runtime and insists on it.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const project = join(import.meta.dirname, "..");
const insists = process.argv.includes("--desktop");
const passedOn = process.argv.slice(2).filter(argument => argument !== "--desktop");

function runtimePath(): string | undefined {
  const name = process.platform === "win32" ? "electron.exe" : "electron";
  const override = process.env["ELECTRON_OVERRIDE_DIST_PATH"];
  if (override) return existsSync(join(override, name)) ? join(override, name) : undefined;
  const packageFolder = dirname(createRequire(import.meta.url).resolve("electron/package.json"));
  const inside = process.platform === "darwin" ? "Electron.app/Contents/MacOS/Electron" : name;
  const path = join(packageFolder, "dist", inside);
  return existsSync(path) ? path : undefined;
}

function hasDisplay(): boolean {
  if (process.platform !== "linux") return true;
  return Boolean(process.env["DISPLAY"] || process.env["WAYLAND_DISPLAY"]);
}

function whyNot(): string | undefined {
  if (runtimePath() === undefined) return "Electron's runtime is not here (get it with: npm run desktop)";
  if (!hasDisplay()) return "there is no display";
  return undefined;
}

if (insists && runtimePath() === undefined) {
  process.stderr.write("Fetching Electron's runtime (about 120 MB)...\n");
  const install = createRequire(import.meta.url).resolve("electron/install.js");
  const { status } = spawnSync(process.execPath, [install], {
    stdio: "inherit",
    env: { ...process.env, DEBUG: "@electron/get:*" },
  });
  if (status !== 0 || runtimePath() === undefined) {
    process.stderr.write("Electron's runtime could not be fetched. The same screen without it: npm start\n");
    process.exit(1);
  }
}

const reason = whyNot();
const path = runtimePath();
if (reason !== undefined && insists) {
  process.stderr.write(`The desktop app cannot start: ${reason}.\n`);
  process.exit(1);
}
if (reason !== undefined) process.stderr.write(`Without the desktop app, as ${reason}.\n\n`);
const [command, ...args] =
  reason === undefined && path !== undefined
    ? [path, join(project, "dist/electron/main.js"), ...passedOn]
    : [process.execPath, join(project, "dist/repoconf.js"), "daemon", ...passedOn];
const child = spawn(command, args, { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
child.once("exit", code => process.exit(code ?? 1));
