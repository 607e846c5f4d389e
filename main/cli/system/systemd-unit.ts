import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { findDaemon } from "../../client/locate.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import { accountFolder } from "../../home/account-folder.ts";
import type { Home } from "../../home/home.ts";
import { stopDaemon } from "../commands/stop.ts";
import { homeOf } from "../connect/session.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { print } from "../output/terminal.ts";

const unitName = "repoconf.service";
/** Milliseconds until the unit's daemon must answer. */
const startTimeout = 10_000;
const unitFile = () => join(accountFolder("XDG_CONFIG_HOME", ".config"), "systemd", "user", unitName);

/**
 * Installs and starts the unit, after stopping a daemon that is running on the home. Throws CommandError if there is no systemd, if it
 * fails, or if the unit's daemon does not start.
 */
export async function installService(options: { readonly home?: string }): Promise<void> {
  await systemctl("--version");
  const home = homeOf(options);
  // A home has only one daemon, so the unit's cannot start while another is running.
  const replaced = await stopDaemon(home, options);
  const file = unitFile();
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, unitText(home));
  await systemctl("--user", "daemon-reload");
  await systemctl("--user", "enable", unitName);
  await systemctl("--user", "restart", unitName);
  await waitUntilRunning(home);
  if (replaced) print("It replaces the daemon that was running on this home.");
  print(`The daemon is running and starts at each login: ${file}`);
  print("To uninstall it: repoconf service remove");
}

/** Stops the unit and removes it. Throws CommandError if there is no systemd. */
export async function removeService(): Promise<void> {
  await systemctl("--version");
  // A missing unit counts as removed.
  await systemctl("--user", "disable", "--now", unitName).catch(() => {});
  await rm(unitFile(), { force: true });
  await systemctl("--user", "daemon-reload");
  print("Removed the service. The home and all values are kept.");
}

/** Waits until the unit's daemon runs on the home. Throws CommandError if it does not start in time, or another daemon holds the home. */
async function waitUntilRunning(home: Home): Promise<void> {
  for (const end = Date.now() + startTimeout; ; await delay(50)) {
    const endpoint = await findDaemon(home);
    const { MainPID, Result } = await unitState();
    if (endpoint !== undefined && String(endpoint.pid) === MainPID) return;
    if (Result === "success" && Date.now() < end) continue;
    const why = endpoint === undefined ? "" : ` Another daemon (pid ${endpoint.pid}) is running on the home.`;
    throw new CommandError(
      `The service is installed, but its daemon is not running.${why} To see why: systemctl --user status ${unitName}`,
      exitCodes.noDaemon,
    );
  }
}

async function unitState(): Promise<{ readonly [property: string]: string | undefined }> {
  const text = await systemctl("--user", "show", "--property=MainPID,Result", unitName);
  return Object.fromEntries(text.split("\n").map(line => line.split("=", 2)));
}

function unitText(home: Home): string {
  // Passes the home as an option, because the unit does not inherit REPOCONF_HOME and the XDG variables of this shell.
  const program = [process.execPath, process.argv[1] ?? ""];
  const command = [...program, "daemon", "--home", home.folder];
  // ConditionPathExists makes systemd skip the unit once the package is removed. Desktops pass the login shell's variables to all units.
  return `[Unit]
Description=Repoconf, the configuration of each of your repositories
${program.map(path => `ConditionPathExists=${path.replaceAll("%", "%%")}`).join("\n")}

[Service]
ExecStart=${command.map(quoted).join(" ")}
Restart=on-failure
RestartSec=5
UnsetEnvironment=NODE_OPTIONS
NoNewPrivileges=yes

[Install]
WantedBy=default.target
`;
}

/** Quotes an argument for systemd, with its special characters doubled or escaped. */
function quoted(argument: string): string {
  const escaped = argument
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("%", "%%")
    .replaceAll("$", "$$$$");
  return `"${escaped}"`;
}

async function systemctl(...args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)("systemctl", args, { cwd: "/" })).stdout;
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT")
      throw new CommandError(
        "This machine has no systemd. Start the daemon yourself: repoconf daemon",
        exitCodes.failed,
      );
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    throw new CommandError(`systemctl ${args.join(" ")} failed: ${said}`, exitCodes.failed);
  }
}
