import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { findDaemon } from "../client/locate.ts";
import { systemErrorCode } from "../files/file-system.ts";
import type { Home } from "../home.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { homeOf } from "./session.ts";
import { stopDaemon } from "./stop.ts";
import { print } from "./terminal.ts";

const unitName = "repoconf.service";
/** Milliseconds that the unit's daemon may take until it answers. */
const startTimeout = 10_000;
const unitFile = () => join(process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "systemd", "user", unitName);

/**
 * Writes the unit and starts it; a daemon that is running on the home is stopped first. Throws CommandError if there is no systemd, if
 * it refuses, or if the unit's daemon does not start.
 */
export async function installService(options: { readonly home?: string }): Promise<void> {
  await systemctl("--version");
  const home = homeOf(options);
  // A home has one daemon: while another is running, the unit's cannot start.
  const replaced = await stopDaemon(home, options);
  const file = unitFile();
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, unitText(home));
  await systemctl("--user", "daemon-reload");
  await systemctl("--user", "enable", unitName);
  await systemctl("--user", "restart", unitName);
  await untilItRuns(home);
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

/** Waits until the home's daemon is the unit's. Throws CommandError if it is not to be. */
async function untilItRuns(home: Home): Promise<void> {
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
  // The home as an option, because the unit gets neither this shell's REPOCONF_HOME nor its variables for data folders.
  const program = [process.execPath, process.argv[1] ?? ""];
  const command = [...program, "daemon", "--home", home.folder];
  // Once the package is removed, the unit is passed over.
  return `[Unit]
Description=Repoconf, the configuration of each of your repositories
${program.map(path => `ConditionPathExists=${path.replaceAll("%", "%%")}`).join("\n")}

[Service]
ExecStart=${command.map(quoted).join(" ")}
Restart=on-failure
RestartSec=5
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
