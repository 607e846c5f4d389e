import { splitConfigPath } from "../../shared/config-path.ts";
import { isJsonObject } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import type { HealthProblem } from "../../shared/protocol.ts";
import { shortened } from "../../shared/shortened.ts";
import type { Scopes } from "../daemon/scopes.ts";
import { interpretConfig } from "../daemon/store/interpret.ts";
import { isConfig } from "../daemon/store/repository-files.ts";
import { type JsonText, JsonTextError, parseJsonText } from "../files/json-text.ts";

/** What a repository's file has; the daemon leaves other members alone. */
const members: ReadonlySet<string> = new Set(["$schema", "name", "path", "inTree", "config"]);

/**
 * What the daemon would tell of the text of a repository's file, or of a work tree's `.repoconf.json`, if it had no values of before: with line and
 * column, in the order of the text. Empty if all of it is in service. Values that run as commands are not asked about trust.
 * Throws nothing: a text that cannot be read is a problem (1106), and its only one.
 */
export function problemsOfText(text: string, scopes: Scopes): readonly HealthProblem[] {
  let json: JsonText;
  try {
    json = parseJsonText(text);
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    const { message, line, column } = error;
    return [{ code: 1106, message, line, column }];
  }
  return problemsOfJson(json, scopes);
}

/** As `problemsOfText`, of one that was read. */
function problemsOfJson(json: JsonText, scopes: Scopes): readonly HealthProblem[] {
  const { config = {} } = json.value;
  const problems = strayMembers(json);
  if (isConfig(config)) {
    const locate = (paths: readonly (readonly string[])[]) => json.locate(paths.map(path => ["config", ...path]));
    problems.push(...interpretConfig(config, undefined, { scopes, isTrusted: () => true }, { locate }).health);
  } else problems.push(...shapeProblems(json, config));
  // One without a place says how many more there are.
  const last = Number.POSITIVE_INFINITY;
  return problems.sort(
    (one, other) => (one.line ?? last) - (other.line ?? last) || (one.column ?? last) - (other.column ?? last) || 0,
  );
}

/**
 * Whether a problem means that something in the file is wrong. What is not used only because its scope is not there, and members
 * beside the configuration, may be meant for somebody else.
 */
export function isError({ code, field, line }: HealthProblem, scopes: Scopes): boolean {
  if (code !== 1011) return code !== 1104;
  // It stands for more than are told, and nobody says what they are.
  if (field === undefined && line === undefined) return true;
  const scope = field === undefined ? undefined : splitConfigPath(field)?.scope;
  return scope !== undefined && scopes.get(scope) !== undefined;
}

/** Who writes `confg` should hear that none of it counts. */
function strayMembers(json: JsonText): HealthProblem[] {
  const names = Object.keys(json.value).filter(name => !members.has(name));
  const told = names.slice(0, limits.problemsOfFile);
  const places = json.locate(told.map(name => [name]));
  return told.map((name, index) => ({
    code: 1011,
    message: `"${shortened(name, limits.toldName)}" is nothing that this file has; it is left alone and not used.`,
    ...places[index],
  }));
}

/** Each of them breaks the file as a whole. */
function shapeProblems(json: JsonText, config: unknown): HealthProblem[] {
  const scopes = isJsonObject(config) ? Object.keys(config).filter(name => !isJsonObject(config[name])) : [];
  const told = scopes.slice(0, limits.problemsOfFile);
  const paths = isJsonObject(config) ? told.map(name => ["config", name]) : [["config"]];
  const places = json.locate(paths);
  return paths.map((path, index) => ({
    code: 1106,
    message: `"${shortened(path.join("."), limits.toldName)}" must be an object`,
    ...places[index],
  }));
}
