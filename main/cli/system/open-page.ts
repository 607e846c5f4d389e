import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdir, stat, unlink, writeFile } from "node:fs/promises";
import { dirname, join, win32 } from "node:path";
import type { Home } from "../../home/home.ts";

const pageName = /^open-[0-9a-f]{12}\.html$/;
/** Milliseconds after which the code in a page has expired. */
const pageLifetime = 60_000;
/** Milliseconds after which the page counts as opened, because some openers run as long as the browser. */
const openTimeout = 3_000;

/**
 * Opens a link in the browser through a page that only its owner can read: other users can see the arguments of a process, and the link
 * contains a code. False if no program can open pages.
 */
export async function openPage(home: Home, url: string): Promise<boolean> {
  await removeOldPages(home.temporary);
  const file = join(home.temporary, `open-${randomBytes(6).toString("hex")}.html`);
  const command = opener();
  if (command === undefined) return false;
  await writeFile(file, `<!doctype html><meta http-equiv="refresh" content="0; url=${url}"><title>Repoconf</title>\n`, {
    flag: "wx",
    mode: 0o600,
  });
  const opened = await run(command, file);
  if (!opened) await unlink(file).catch(() => {});
  return opened;
}

async function removeOldPages(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!pageName.test(name)) continue;
    const file = join(folder, name);
    const stats = await stat(file).catch(() => undefined);
    if (stats !== undefined && Date.now() - stats.mtimeMs > pageLifetime) await unlink(file).catch(() => {});
  }
}

function run(command: string, file: string): Promise<boolean> {
  return new Promise(resolve => {
    // Not in the current folder, which may be a cloned repository: a relative PATH entry must not find programs there.
    const child = spawn(command, [file], { stdio: "ignore", detached: true, cwd: dirname(file) });
    const timer = setTimeout(() => resolve(true), openTimeout);
    const end = (opened: boolean) => {
      clearTimeout(timer);
      resolve(opened);
    };
    child.once("error", () => end(false));
    // Explorer on Windows exits with 1 even after success.
    child.once("exit", code => end(code === 0 || process.platform === "win32"));
    child.unref();
  });
}

/**
 * The program that opens pages; undefined if there is none, or no display. A full path where it is known, because Windows searches the
 * current folder first.
 */
export function opener(
  platform: NodeJS.Platform = process.platform,
  environment: { readonly [name: string]: string | undefined } = process.env,
): string | undefined {
  switch (platform) {
    case "darwin":
      return "/usr/bin/open";
    case "win32":
      return win32.join(environment["SystemRoot"] || "C:\\Windows", "explorer.exe");
    default:
      // Without a display, xdg-open would at best start a browser in the terminal.
      return environment["DISPLAY"] || environment["WAYLAND_DISPLAY"] ? "xdg-open" : undefined;
  }
}
