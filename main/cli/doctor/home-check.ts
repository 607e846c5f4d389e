import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { keyIdOf } from "../../../shared/api-key.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { isJsonObject } from "../../../shared/json.ts";
import { describeCause } from "../../files/describe-cause.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import { readRegularFile } from "../../files/foreign-file.ts";
import type { Home } from "../../home/home.ts";
import { homeFormat, parseFormat } from "../../home/prepare-home.ts";
import { isRestoreUnderway } from "../../home/restore.ts";
import { stopMarkerIn } from "../../store/log/log-folder.ts";
import { type Finding, good, note, problem } from "./finding.ts";

/** Checks the home's folder and its format. `there` is false if there is nothing else to check. */
export async function checkHome(home: Home): Promise<{ readonly there: boolean; readonly finding: Finding }> {
  const check = "home";
  const { folder, formatFile } = home;
  const stats = await statsOf(folder);
  if (stats === undefined) {
    const action =
      "None needed if this is a new installation: the first command that needs a daemon creates it. Otherwise name your home with --home.";
    return { there: false, finding: note(check, `${folder} does not exist`, action) };
  }
  if (!stats.isDirectory()) {
    const message = `${folder} is ${kindOf(stats)}, not a folder`;
    return { there: false, finding: problem(check, message, "Pass the folder itself with --home or REPOCONF_HOME.") };
  }
  const text = await readFile(formatFile).catch((error: unknown) => ({ error }));
  if (typeof text === "object") {
    const action = "Look what it is, and move it away.";
    return { there: true, finding: problem(check, describeCause(text.error), action, { file: formatFile }) };
  }
  if (text === undefined) {
    const action = "None needed if this is meant to be the home: the daemon creates the rest at its next start.";
    return { there: true, finding: note(check, `${folder} has no format number`, action) };
  }
  const format = parseFormat(text);
  if (format > homeFormat) {
    const message = `${folder} has format ${format}, but this version only supports formats up to ${homeFormat}`;
    return { there: true, finding: problem(check, message, "Install the newer version again, or use another home.") };
  }
  if (await isRestoreUnderway(home)) {
    const action =
      "None needed while it is running. Otherwise the daemon completes it at its next start: repoconf restart";
    return {
      there: true,
      finding: note(check, "a restore is in progress or was interrupted", action, { file: home.restoreFile }),
    };
  }
  if (format < homeFormat) {
    const message = `${folder} has format ${format}, from an older version`;
    const action = `None needed: the daemon upgrades it to format ${homeFormat} at its next start. Back it up first if you may want to go back: repoconf backup FILE`;
    return { there: true, finding: note(check, message, action) };
  }
  if (format !== homeFormat) {
    const action = `Write "${homeFormat}" into it if this is a Repoconf home.`;
    return { there: true, finding: problem(check, `${formatFile} does not contain a format number`, action) };
  }
  return { there: true, finding: good(check, `${folder}, format ${format}`) };
}

/**
 * Checks that the user owns the home's private folders and files, that none is a link, and that no other user can open them. `isReadable`
 * is false if one of the folders is something else: then there is nothing more to check.
 */
export async function checkRights(
  home: Home,
): Promise<{ readonly findings: readonly Finding[]; readonly isReadable: boolean }> {
  const secrets = [
    home.lockFile,
    home.endpointFile,
    home.ownerKeyFile,
    home.keysFile,
    home.trustFile,
    home.plainValuesFile,
    home.proposalsFile,
    home.draftsFile,
    home.findingsFile,
    home.auditFile,
  ];
  const { formatFile, settingsFile, indexFile, restoreFile, logFile } = home;
  const others = [formatFile, settingsFile, indexFile, restoreFile, logFile, stopMarkerIn(home.log)];
  const { repositories, local, journal, log, removed, scopes, temporary, agents } = home;
  const folders = [repositories, local, journal, log, removed, scopes, temporary, agents];
  const found = await Promise.all([
    checkEntry(home.folder, { folder: true, mode: 0o700 }),
    ...secrets.map(path => checkEntry(path, { folder: false, mode: 0o600 })),
    // The home's own mode protects what they contain.
    ...others.map(path => checkEntry(path, { folder: false })),
    ...folders.map(path => checkEntry(path, { folder: true })),
  ]);
  const findings = found.filter(finding => finding !== undefined);
  const isReadable = (await Promise.all(folders.map(statsOf))).every(stats => stats?.isDirectory() !== false);
  if (findings.length > 0) return { findings, isReadable };
  const message = process.platform === "win32" ? "no links (modes: not on Windows)" : "only you can read it";
  return { findings: [good("rights", message)], isReadable };
}

async function checkEntry(
  path: string,
  wanted: { readonly folder: boolean; readonly mode?: number },
): Promise<Finding | undefined> {
  const check = "rights";
  const stats = await statsOf(path);
  if (stats === undefined) return undefined;
  const place = { file: path };
  if (stats.isSymbolicLink()) {
    return problem(
      check,
      "it is a symbolic link, which Repoconf does not follow",
      "Replace it with what it points to.",
      place,
    );
  }
  if (wanted.folder !== stats.isDirectory() || (!wanted.folder && !stats.isFile())) {
    const message = `it is ${kindOf(stats)}, but must be ${wanted.folder ? "a folder" : "a regular file"}`;
    return problem(check, message, "Move it away.", place);
  }
  if (process.platform === "win32") return undefined;
  if (stats.uid !== process.getuid?.()) {
    return problem(
      check,
      "it belongs to another user",
      "Change its owner to you, or use another home (--home).",
      place,
    );
  }
  if (wanted.mode === undefined || (stats.mode & 0o077) === 0) return undefined;
  const message = `other users can open it (mode ${(stats.mode & 0o777).toString(8)})`;
  return problem(check, message, `Restrict it: chmod ${wanted.mode.toString(8)} ${path}`, place);
}

/** Checks the key files, because the daemon does not start if one is invalid. `running` is the pid of a running daemon. */
export async function checkKeys(home: Home, running: number | undefined): Promise<Finding[]> {
  const check = "keys";
  const findings: Finding[] = [];
  const owner = await readFile(home.ownerKeyFile).catch((error: unknown) => ({ error }));
  if (typeof owner === "string" && keyIdOf(owner.trim()) === undefined) {
    const maker = running === undefined ? "the next start of the daemon" : "the daemon";
    const action = `Remove the file: ${maker} creates a new key.`;
    findings.push(problem(check, "it does not contain a key", action, { file: home.ownerKeyFile }));
  } else if (owner === undefined) {
    findings.push(describeMissingKey(home, running));
  } else if (typeof owner !== "string") {
    const action = "Make it readable, or remove it: the daemon creates a new key at its next start.";
    findings.push(problem(check, describeCause(owner.error), action, { file: home.ownerKeyFile }));
  }
  try {
    const text = await readFile(home.keysFile);
    const named: unknown = text === undefined ? { keys: [] } : JSON.parse(text);
    if (!isJsonObject(named) || !Array.isArray(named["keys"])) throw new SyntaxError('it is not { "keys": [...] }');
  } catch (error) {
    const action = "Fix it, or move it away, which revokes every named key.";
    findings.push(problem(check, describeCause(error), action, { file: home.keysFile }));
  }
  return findings.length > 0 ? findings : [good(check, "they can be read")];
}

function describeMissingKey(home: Home, running: number | undefined): Finding {
  const place = { file: home.ownerKeyFile };
  if (running === undefined) {
    const action = "None needed: the daemon creates a new one at its next start.";
    return note("keys", "there is no owner's key", action, place);
  }
  const message = `the owner's key is missing, and the running daemon (pid ${running}) has not created a new one yet`;
  const action = "Wait a second. If it is still missing, the daemon's log says why; repoconf restart creates one too.";
  return problem("keys", message, action, place);
}

/** The finding for a request that failed because of the owner's key; empty for other errors. */
export function describeRefusedKey(home: Home, error: unknown): Finding[] {
  if (!(error instanceof RepoconfError) || error.code !== 1100) return [];
  const action = "Remove the file: the daemon creates a new key. If it does not, run: repoconf restart";
  return [problem("keys", "the running daemon does not accept this key", action, { file: home.ownerKeyFile })];
}

/** Undefined if it is missing. Throws UnreadableFileError. */
async function readFile(path: string): Promise<string | undefined> {
  return (await readRegularFile(path, { maximumBytes: 16 * 1024 ** 2 }))?.bytes.toString();
}

/** Undefined if the path is missing. */
async function statsOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

function kindOf(stats: Stats): string {
  if (stats.isSymbolicLink()) return "a link";
  if (stats.isDirectory()) return "a folder";
  return stats.isFile() ? "a file" : "no file";
}
