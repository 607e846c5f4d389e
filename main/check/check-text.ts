import { type Config, configEntries } from "../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../shared/config-path.ts";
import { isNote } from "../../shared/health.ts";
import { isJsonObject } from "../../shared/json.ts";
import { limits } from "../../shared/limits.ts";
import type { HealthProblem } from "../../shared/protocol.ts";
import { shortened } from "../../shared/shortened.ts";
import type { Scopes } from "../daemon/scopes.ts";
import { interpretConfig, type Locate, type Rules } from "../daemon/store/interpret.ts";
import { presentPath, withNewNames } from "../daemon/store/renamed-fields.ts";
import { isConfig } from "../daemon/store/repository-files.ts";
import { type JsonText, JsonTextError, parseJsonText } from "../files/json-text.ts";

/** Members that a repository's file can have; the daemon keeps others but does not use them. */
const members: ReadonlySet<string> = new Set(["$schema", "name", "path", "inTree", "config"]);

/**
 * The problems that the daemon would report for the text of a repository's file, or of a work tree's `.repoconf.json`, without earlier
 * values: with line and column, in the order of the text. Empty if everything in it is active. Does not check whether commands are
 * trusted. Throws nothing: a text that cannot be read is one problem (1106).
 */
export function problemsOfText(text: string, scopes: Scopes): readonly HealthProblem[] {
  return interpretText(text, { scopes, isTrusted: () => true }).problems;
}

export interface InterpretedText {
  /** The stored active values; undefined if the text is broken as a whole. */
  readonly stored: Config | undefined;
  readonly problems: readonly HealthProblem[];
}

/** As `problemsOfText`, with the values, and with trust as the rules have it. */
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
  const stray = strayMembers(json);
  if (!isConfig(config)) return { stored: undefined, problems: inOrder([...stray, ...shapeProblems(json, config)]) };
  const locate: Locate = paths => json.locate(paths.map(path => ["config", ...path]));
  const { scopes } = rules;
  const { stored, health } = interpretConfig(config, undefined, rules, { locate });
  return { stored, problems: inOrder([...stray, ...health, ...deprecatedFields(config, scopes, locate)]) };
}

/** They serve, and their schema says that they are no longer to be used. */
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

/** A problem without a place says how many more there are. */
function inOrder(problems: readonly HealthProblem[]): readonly HealthProblem[] {
  const last = Number.MAX_SAFE_INTEGER;
  return problems.toSorted(
    (one, other) => (one.line ?? last) - (other.line ?? last) || (one.column ?? last) - (other.column ?? last),
  );
}

/**
 * Whether a problem means that something in the file is wrong. What is not used only because its scope is not there, and members
 * beside the configuration, may be meant for somebody else.
 */
export function isError(problem: HealthProblem, scopes: Scopes): boolean {
  const { code, field, line } = problem;
  if (code !== 1011) return !isNote(problem);
  // It counts problems that are not reported one by one, so they may be errors.
  if (field === undefined && line === undefined) return true;
  const scope = field === undefined ? undefined : splitConfigPath(field)?.scope;
  return scope !== undefined && scopes.get(scope) !== undefined;
}

/** Reports a typing error such as `confg`, which would silently disable everything in it. */
function strayMembers(json: JsonText): HealthProblem[] {
  const names = Object.keys(json.value).filter(name => !members.has(name));
  const reported = names.slice(0, limits.problemsOfFile);
  const places = json.locate(reported.map(name => [name]));
  return reported.map((name, index) => ({
    code: 1011,
    message: `"${shortened(name, limits.shownName)}" is not a member of this file; it is kept but not used.`,
    ...places[index],
  }));
}

/** Each of them breaks the file as a whole. */
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
