import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { app } from "electron";

/** Linux has no call for it: an XDG autostart entry of our own. */
const entryFile = () =>
  join(process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "autostart", "repoconf.desktop");

export async function startsAtLogin(): Promise<boolean> {
  if (process.platform !== "linux") return app.getLoginItemSettings().openAtLogin;
  return (await readFile(entryFile(), "utf8").catch(() => "")).includes("[Desktop Entry]");
}

/** Off until asked. Throws the system's error. */
export async function setStartAtLogin(on: boolean): Promise<void> {
  if (process.platform !== "linux") {
    app.setLoginItemSettings({ openAtLogin: on });
    return;
  }
  const file = entryFile();
  if (!on) return rm(file, { force: true });
  await mkdir(join(file, ".."), { recursive: true });
  // An AppImage is run from a mount that is gone after it.
  const command = process.env["APPIMAGE"] ?? process.execPath;
  const quoted = `"${command.replaceAll(/["`$\\]/g, character => `\\${character}`)}"`;
  const lines = [
    "[Desktop Entry]",
    "Type=Application",
    "Name=Repoconf",
    `Exec=${quoted} --hidden`,
    "X-GNOME-Autostart-enabled=true",
  ];
  await writeFile(file, `${lines.join("\n")}\n`);
}
