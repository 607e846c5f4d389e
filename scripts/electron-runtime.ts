import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Electron's own runtime: where ELECTRON_OVERRIDE_DIST_PATH says, else where `npm run desktop` puts it; undefined if it is not there. */
export function electronRuntime(): string | undefined {
  const override = process.env["ELECTRON_OVERRIDE_DIST_PATH"];
  const folder = override || join(dirname(createRequire(import.meta.url).resolve("electron/package.json")), "dist");
  const names: { readonly [platform: string]: string } = {
    darwin: "Electron.app/Contents/MacOS/Electron",
    win32: "electron.exe",
  };
  const path = join(folder, names[process.platform] ?? "electron");
  return existsSync(path) ? path : undefined;
}
