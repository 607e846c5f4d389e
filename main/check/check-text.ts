import { type Config, configEntries, configValue } from "../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../shared/config-path.ts";
import { isNote } from "../../shared/health.ts";
import { isJsonObject } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import type { HealthProblem } from "../../shared/protocol.ts";
import { shortened } from "../../shared/shortened.ts";
import { type JsonText, JsonTextError, parseJsonText } from "../files/json-text.ts";
import type { Scopes } from "../scopes/scopes.ts";
import { isConfig } from "../store/mirror/repository-files.ts";
import { homeMembers } from "../store/mirror/repository-metadata.ts";
import { interpretConfig, type Locate, type Rules } from "../store/values/interpret.ts";
import { presentPath, withNewNames } from "../store/values/renamed-fields.ts";

/**
 * The problems that the daemon would report for a repository's file, or for a work tree's `.repoconf.json`, if there were no earlier
 * values. They have line and column, and are in the order of the text; empty if every value is active. Does not check whether commands
 * are trusted. Never throws: a text that cannot be parsed is one problem (1106).
 */
export function problemsOfText(text: string, scopes: Scopes): readonly HealthProblem[] {
  return interpretText(text, { scopes, isTrusted: () => true }).problems;
}

export interface InterpretedText {
  /** The stored values that are active; undefined if the whole text is invalid. */
  readonly stored: Config | undefined;
  readonly problems: readonly HealthProblem[];
}

/** Like `problemsOfText`, but also returns the values, and checks trust by the given rules. */
export function interpretText(text: string, rules: Rules): InterpretedText {
  let json: JsonText;
  try {
    json = parseJsonText(text);
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    const { message, line, column } = error;
    return { stored: undefined, problems: [{ code: 1106, message, line, column }] };
  }
  const { config = {} } = json.value;
  const unknown = unknownMembers(json);
  if (!isConfig(config)) return { stored: undefined, problems: inOrder([...unknown, ...shapeProblems(json, config)]) };
  const locate: Locate = paths => json.locate(paths.map(path => ["config", ...path]));
  const { scopes } = rules;
  const { stored, health } = interpretConfig(config, undefined, rules, { locate });
  return {
    stored,
    problems: inOrder([
      ...unknown,
      ...health,
      ...deprecatedFields(config, scopes, locate),
      ...missingFields(config, scopes),
    ]),
  };
}

/** Fields that are active but that their schema marks as deprecated. */
function deprecatedFields(config: Config, scopes: Scopes, locate: Locate): HealthProblem[] {
  const found = [...configEntries(withNewNames(config, scopes).config)]
    .filter(({ scope, field }) => scopes.field(scope, field)?.schema["deprecated"] === true)
    .slice(0, limits.problemsOfFile);
  const names = found.map(path => presentPath(config, path, scopes));
  const places = locate(names.map(({ scope, field }) => [scope, field]));
  return found.map(({ scope, field }, index) => {
    const path = joinConfigPath(scope, field);
    return {
      code: 1115,
      message: `${path} is deprecated and should not be used any more.`,
      field: path,
      ...places[index],
    };
  });
}

/** Fields without a default that their scope requires. */
export function missingFields(config: Config, scopes: Scopes): HealthProblem[] {
  const named = withNewNames(config, scopes).config;
  return [...scopes.all()].flatMap(({ name, required }) =>
    required
      .filter(field => configValue(named, name, field) === undefined)
      .map(field => ({ code: 1115, message: `${name}.${field} is required and not set.`, field: `${name}.${field}` })),
  );
}

/** Sorts problems by position. The one without a position, which counts the unreported problems, comes last. */
function inOrder(problems: readonly HealthProblem[]): readonly HealthProblem[] {
  const last = Number.MAX_SAFE_INTEGER;
  return problems.toSorted(
    (one, other) => (one.line ?? last) - (other.line ?? last) || (one.column ?? last) - (other.column ?? last),
  );
}

/**
 * Whether a problem is an error. Values of an unknown scope and unknown members are only warnings: they may be meant for another
 * version or program.
 */
export function isError(problem: HealthProblem, scopes: Scopes): boolean {
  const { code, field, line } = problem;
  if (code !== 1011) return !isNote(problem);
  // This problem counts unreported ones, which may be errors.
  if (field === undefined && line === undefined) return true;
  const scope = field === undefined ? undefined : splitConfigPath(field)?.scope;
  return scope !== undefined && scopes.get(scope) !== undefined;
}

/** Reports unknown members: a typo such as `confg` would silently disable everything in it. */
function unknownMembers(json: JsonText): HealthProblem[] {
  const names = Object.keys(json.value).filter(name => !homeMembers.has(name));
  const reported = names.slice(0, limits.problemsOfFile);
  const places = json.locate(reported.map(name => [name]));
  return reported.map((name, index) => ({
    code: 1011,
    message: `"${shortened(name, limits.shownName)}" is not a member of this file; it is kept but not used.`,
    ...places[index],
  }));
}

/** Problems of the shape; each one makes the whole file invalid. */
function shapeProblems(json: JsonText, config: unknown): HealthProblem[] {
  const scopes = isJsonObject(config) ? Object.keys(config).filter(name => !isJsonObject(config[name])) : [];
  const reported = scopes.slice(0, limits.problemsOfFile);
  const paths = isJsonObject(config) ? reported.map(name => ["config", name]) : [["config"]];
  const places = json.locate(paths);
  return paths.map((path, index) => ({
    code: 1106,
    message: `"${shortened(path.join("."), limits.shownName)}" must be an object`,
    ...places[index],
  }));
}
