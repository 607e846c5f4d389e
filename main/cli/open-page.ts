import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdir, stat, unlink, writeFile } from "node:fs/promises";
import { dirname, join, win32 } from "node:path";
import type { Home } from "../home.ts";

const pageName = /^open-[0-9a-f]{12}\.html$/;
/** Milliseconds after which the code in a page has ended. */
const pageLifetime = 60_000;
/** Milliseconds after which what opens pages is taken to have done so: some programs stay for as long as the browser. */
const patience = 3_000;

/**
 * Opens a link in the browser by way of a file that only its owner can read: the arguments of a process, where a code in
 * the link would stand otherwise, are for everyone to see. False if there is nothing that opens pages.
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
    // Elsewhere than in the current folder, which may be a cloned repository's: a relative PATH must not lead into that either.
    const child = spawn(command, [file], { stdio: "ignore", detached: true, cwd: dirname(file) });
    const timer = setTimeout(() => resolve(true), patience);
    const end = (opened: boolean) => {
      clearTimeout(timer);
      resolve(opened);
    };
    child.once("error", () => end(false));
    // Windows' explorer leaves with 1 whatever it did.
    child.once("exit", code => end(code === 0 || process.platform === "win32"));
    child.unref();
  });
}

/**
 * The program that opens pages; undefined if there is none, or no display. By its full path where that is known: Windows looks
 * for a bare name in the current folder first.
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
      // A terminal browser would take the terminal, and a machine without a display has none to show.
      return environment["DISPLAY"] || environment["WAYLAND_DISPLAY"] ? "xdg-open" : undefined;
  }
}
