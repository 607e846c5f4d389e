import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { systemErrorCode } from "../daemon/store/file-system.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { print } from "./terminal.ts";

const unitName = "repoconf.service";
const unitFile = () => join(process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "systemd", "user", unitName);

/** Writes the unit and starts it. Throws CommandError where there is no systemd, or it refuses. */
export async function installService(home: string | undefined): Promise<void> {
  await systemctl("--version");
  const file = unitFile();
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, unitText(home === undefined ? undefined : resolve(home)));
  await systemctl("--user", "daemon-reload");
  await systemctl("--user", "enable", "--now", unitName);
  print(`The daemon runs now and from each login on: ${file}`);
  print("To take that away: repoconf service remove");
}

/** Stops the unit and takes it away. Throws CommandError where there is no systemd. */
export async function removeService(): Promise<void> {
  await systemctl("--version");
  // One that is not there is as good as removed.
  await systemctl("--user", "disable", "--now", unitName).catch(() => {});
  await rm(unitFile(), { force: true });
  await systemctl("--user", "daemon-reload");
  print("The service is removed. The home and all values stay.");
}

function unitText(home: string | undefined): string {
  const command = [process.execPath, process.argv[1] ?? "", "daemon", ...(home === undefined ? [] : ["--home", home])];
  return `[Unit]
Description=Repoconf, the configuration of each of your repositories

[Service]
ExecStart=${command.map(quoted).join(" ")}
Restart=on-failure
NoNewPrivileges=yes

[Install]
WantedBy=default.target
`;
}

/** As systemd reads arguments: in quotes, its own signs doubled or escaped. */
function quoted(argument: string): string {
  const escaped = argument
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("%", "%%")
    .replaceAll("$", "$$$$");
  return `"${escaped}"`;
}

async function systemctl(...args: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)("systemctl", args);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT")
      throw new CommandError(
        "There is no systemd on this machine. Start the daemon in another way: repoconf daemon",
        exitCodes.failed,
      );
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    throw new CommandError(`systemctl ${args.join(" ")} failed: ${said}`, exitCodes.failed);
  }
}
