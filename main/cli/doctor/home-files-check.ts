import { readdir } from "node:fs/promises";
import { describeCause } from "../../files/describe-cause.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import { JsonTextError } from "../../files/json-text.ts";
import type { Home } from "../../home/home.ts";
import { readSettings } from "../../home/settings.ts";
import { ScopeFiles, scopeFileEnding } from "../../scopes/scope-files.ts";
import { Scopes } from "../../scopes/scopes.ts";
import { systemClock } from "../../time/clock.ts";
import { counted, type Finding, good, note, problem } from "./finding.ts";

/** Checks `settings.json`, and returns its preferred port. */
export async function checkSettings(home: Home): Promise<{ readonly finding: Finding; readonly port?: number }> {
  const check = "settings";
  const { settingsFile } = home;
  try {
    const settings = await readSettings(home);
    if (settings === undefined) return { finding: good(check, "none are set") };
    const finding = good(check, `${settingsFile} can be read`);
    return settings.port === undefined ? { finding } : { finding, port: settings.port };
  } catch (error) {
    const { line, column } = error instanceof JsonTextError ? error : {};
    const place = { file: settingsFile, ...(line !== undefined && column !== undefined && { line, column }) };
    const action = "Fix it in an editor; until then a running daemon keeps the last valid settings.";
    return { finding: problem(check, describeCause(error), action, place) };
  }
}

/** Checks the schema files that users added, and returns the valid scopes. */
export async function checkScopes(home: Home): Promise<{ readonly findings: Finding[]; readonly scopes: Scopes }> {
  const check = "scopes";
  const scopes = new Scopes();
  const files = new ScopeFiles(home, scopes, () => {}, systemClock);
  const there = await readdir(home.scopes).then(
    () => true,
    error => systemErrorCode(error) !== "ENOENT",
  );
  if (there) await files.reload();
  const action = "Fix it in an editor; until then its values are kept but not used.";
  const findings = files.problems.map(text => problem(check, text, action));
  if (findings.length > 0) return { findings, scopes };
  const names = [...scopes.all()].map(({ name }) => name);
  const notes = [...scopes.all()].flatMap(({ name, notes }) =>
    notes.map(text => note(check, `${name}${scopeFileEnding}: ${text}`, "None needed if you know.")),
  );
  return { findings: [...notes, good(check, `${counted(names.length, "scope")}: ${names.join(", ")}`)], scopes };
}
