import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/**
 * The path of Electron's executable: in ELECTRON_OVERRIDE_DIST_PATH if that is set, otherwise where `npm run desktop` installs it.
 * Undefined if it is missing.
 */
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
