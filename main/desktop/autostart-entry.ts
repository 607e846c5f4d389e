import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { accountFolder } from "../home/account-folder.ts";

/** Electron cannot start apps at login on Linux, so the app writes its own XDG autostart entry. */
const entryFile = () => join(accountFolder("XDG_CONFIG_HOME", ".config"), "autostart", "repoconf.desktop");

export async function hasAutostartEntry(): Promise<boolean> {
  try {
    return (await readFile(entryFile(), "utf8")).includes("[Desktop Entry]");
  } catch {
    return false;
  }
}

/** Creates or removes the entry. Throws system errors, and RepoconfError 1101 if XDG_CONFIG_HOME is a relative path. */
export async function setAutostartEntry(on: boolean): Promise<void> {
  const file = entryFile();
  if (!on) return rm(file, { force: true });
  await mkdir(dirname(file), { recursive: true });
  // An AppImage runs from a temporary mount, so execPath does not exist at the next login.
  const command = process.env["APPIMAGE"] ?? process.execPath;
  const quoted = `"${command.replaceAll(/["`$\\]/g, character => `\\${character}`)}"`;
  // Uninstalling a package does not touch users' home folders; TryExec makes desktops skip the entry once the app is removed.
  const lines = [
    "Type=Application",
    "Name=Repoconf",
    `TryExec=${command}`,
    `Exec=${quoted} --hidden`,
    "X-GNOME-Autostart-enabled=true",
  ];
  await writeFile(file, `[Desktop Entry]\n${lines.join("\n")}\n`);
}
