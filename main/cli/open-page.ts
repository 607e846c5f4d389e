import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdir, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
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
  const [command, ...args] = opener(file);
  if (command === undefined) return false;
  await writeFile(file, `<!doctype html><meta http-equiv="refresh" content="0; url=${url}"><title>Repoconf</title>\n`, {
    flag: "wx",
    mode: 0o600,
  });
  const opened = await run(command, args);
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

function run(command: string, args: readonly string[]): Promise<boolean> {
  return new Promise(resolve => {
    const child = spawn(command, args, { stdio: "ignore", detached: true });
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

function opener(file: string): string[] {
  switch (process.platform) {
    case "darwin":
      return ["open", file];
    case "win32":
      return ["explorer.exe", file];
    default:
      // A terminal browser would take the terminal, and a machine without a display has none to show.
      return process.env["DISPLAY"] || process.env["WAYLAND_DISPLAY"] ? ["xdg-open", file] : [];
  }
}
