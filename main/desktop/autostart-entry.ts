import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** Linux has no call for starting at login: an XDG autostart entry of our own. */
const entryFile = () =>
  join(process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "autostart", "repoconf.desktop");

export async function hasAutostartEntry(): Promise<boolean> {
  return (await readFile(entryFile(), "utf8").catch(() => "")).includes("[Desktop Entry]");
}

/** Makes the entry, or takes it away. Throws the system's error. */
export async function setAutostartEntry(on: boolean): Promise<void> {
  const file = entryFile();
  if (!on) return rm(file, { force: true });
  await mkdir(dirname(file), { recursive: true });
  // An AppImage is run from a mount that is gone after it.
  const command = process.env["APPIMAGE"] ?? process.execPath;
  const quoted = `"${command.replaceAll(/["`$\\]/g, character => `\\${character}`)}"`;
  // A package may not touch what is in people's homes: once the app is removed, TryExec makes the entry one that is passed over.
  const lines = [
    "Type=Application",
    "Name=Repoconf",
    `TryExec=${command}`,
    `Exec=${quoted} --hidden`,
    "X-GNOME-Autostart-enabled=true",
  ];
  await writeFile(file, `[Desktop Entry]\n${lines.join("\n")}\n`);
}
