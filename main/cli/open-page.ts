import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdir, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Home } from "../home.ts";

const pageName = /^open-[0-9a-f]{12}\.html$/;

/**
 * Opens a link in the browser by way of a file that only its owner can read: the arguments of a process, where a code in
 * the link would stand otherwise, are for everyone to see. False if there is nothing that opens pages.
 */
export async function openPage(home: Home, url: string): Promise<boolean> {
  for (const name of await readdir(home.temporary)) {
    // Of earlier times; their codes have ended.
    if (pageName.test(name)) await unlink(join(home.temporary, name)).catch(() => {});
  }
  const file = join(home.temporary, `open-${randomBytes(6).toString("hex")}.html`);
  await writeFile(file, `<!doctype html><meta http-equiv="refresh" content="0; url=${url}"><title>Repoconf</title>\n`, {
    flag: "wx",
    mode: 0o600,
  });
  const [command, ...args] = opener(file);
  if (command === undefined) return false;
  return new Promise(resolve => {
    const child = spawn(command, args, { stdio: "ignore", detached: true });
    child.once("error", () => resolve(false));
    child.once("exit", code => resolve(code === 0));
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
