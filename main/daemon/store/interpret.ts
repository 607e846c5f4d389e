import { applyConfigEdits, type Config, type ConfigEdit, configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import type { HealthProblem } from "../../../shared/protocol.ts";
import { runToEnd } from "../../../shared/run-to-end.ts";
import { SpareSteps } from "../../../shared/schema/step-budget.ts";
import { shortened } from "../../../shared/shortened.ts";
import { pointerTokens, valueAt } from "../../../shared/value-edit.ts";
import type { Scopes } from "../scopes.ts";
import { type Renamed, withNewNames } from "./renamed-fields.ts";

type Place = { readonly line: number; readonly column: number };
/** Where values stand, in the order of their paths; asked once for all, as each asking walks the text. */
export type Locate = (paths: readonly (readonly string[])[]) => readonly (Place | undefined)[];

/** What values are judged by. */
export interface Rules {
  readonly scopes: Scopes;
  /** Whether a value that runs as a command may become active. */
  isTrusted(path: ConfigPath, value: JsonValue): boolean;
}

export interface Interpretation {
  /** The stored values that are active; the very object that was given if those are all of it. */
  readonly stored: Config;
  /** Fields whose text is not active, and why: `limits.problemsOfFile` of them, and how many more there are. */
  readonly health: readonly HealthProblem[];
}

/** Values that are judged in one go. What they may cost beyond their size, they share. */
const checkedAtOnce = 2_000;
/** Steps of their checks that are taken in one go: a few milliseconds. */
const stepsAtOnce = 100_000;

/** How often a value that is active, or acknowledged, may run out of steps until it is refused. */
const mostTries = 10;

/** Where in the text a problem is: scope and field, and what is wrong inside the value, "" being all of it. */
interface ProblemPath {
  readonly value: readonly string[];
  /** JSON pointer. */
  readonly inside: string;
}

/** The paths of the values that have them. A problem itself tells names as people read them. */
const pathsOfProblems = new WeakMap<HealthProblem, ProblemPath>();

/** What the place of a whole value is known by, of a path to it or into it. */
function placeOfValue(path: readonly string[]): string {
  return JSON.stringify(path.slice(0, 2));
}

function insideOf({ value, inside }: ProblemPath): readonly string[] {
  return inside === "" ? value : [...value, ...pointerTokens(inside)];
}

/** The problems with the places where they stand now. */
export function placed(health: readonly HealthProblem[], locate: Locate): HealthProblem[] {
  const paths = health.map(problem => pathsOfProblems.get(problem));
  const known = paths.filter(path => path !== undefined);
  const places = (known.length > 0 ? locate(known.map(insideOf)) : []).values();
  return health.map((problem, index) => {
    const path = paths[index];
    if (path === undefined) return problem;
    const { line: _, column: __, ...unplaced } = problem;
    const now = { ...unplaced, ...places.next().value };
    pathsOfProblems.set(now, path);
    return now;
  });
}

/** The problems with the places that those of the same values have in `known`. */
export function placedAs(health: readonly HealthProblem[], known: readonly HealthProblem[]): HealthProblem[] {
  const places = new Map<string, Place>();
  for (const problem of known) {
    const { line, column } = problem;
    const path = pathsOfProblems.get(problem);
    if (path === undefined || line === undefined || column === undefined) continue;
    places.set(JSON.stringify(path.value), { line, column });
    places.set(JSON.stringify(insideOf(path)), { line, column });
  }
  return placed(health, paths => paths.map(path => places.get(JSON.stringify(path)) ?? places.get(placeOfValue(path))));
}

/** The problems of a file. Of many no more is kept than can be told. */
class Findings {
  /** By scope, so that what is wrong in one hides nothing of another from whom may read that one alone. */
  readonly #refused = new Map<string, HealthProblem[]>();
  readonly #untrusted: HealthProblem[] = [];
  readonly #unknown: HealthProblem[] = [];
  readonly #notes: HealthProblem[] = [];
  /** Where those stand that the text has by an old name. */
  readonly #places: ReadonlyMap<string, readonly string[]>;
  /** Without notes. */
  count = 0;

  constructor({ byOldName }: Renamed) {
    this.#places = new Map(
      byOldName.map(({ scope, field, oldName }) => [joinConfigPath(scope, field), [scope, oldName]]),
    );
    for (const { scope, field, oldName } of byOldName.slice(0, limits.problemsOfFile)) {
      const path = joinConfigPath(scope, field);
      const message = `The file uses the old name "${oldName}" for ${path}; the next set of ${path} writes the new one.`;
      this.#notes.push(this.#problem(1115, message, [scope, field], ""));
    }
  }

  /** Counts a problem if the list is full; false if there is room for it. */
  countIfFull(): boolean {
    if (this.#unknown.length < limits.problemsOfFile) return false;
    this.count += 1;
    return true;
  }

  /** `message` is asked for if it can be told. `inside`: a JSON pointer to what is wrong in the value. */
  add(
    code: 1011 | 1103 | 1114,
    message: () => string,
    path: readonly [scope: string, ...field: string[]],
    inside = "",
  ): void {
    this.count += 1;
    const found = this.#like(code, path[0]);
    // Values that wait for trust are all reported, because they are listed and trusted by these problems.
    if (code !== 1114 && found.length >= limits.problemsOfFile) return;
    found.push(this.#problem(code, message(), path, inside));
  }

  #problem(
    code: HealthProblem["code"],
    message: string,
    path: readonly [scope: string, ...field: string[]],
    inside: string,
  ): HealthProblem {
    const problem: HealthProblem = { code, message, field: path.map(shortName).join(".") };
    pathsOfProblems.set(problem, { value: this.#places.get(path.join(".")) ?? path, inside });
    return problem;
  }

  /** Values that something else serves for come first. */
  health(locate: Locate): HealthProblem[] {
    const refused = [...this.#untrusted, ...[...this.#refused.values()].flat()];
    const unknown = this.#unknown.slice(0, Math.max(0, limits.problemsOfFile - refused.length));
    const notes = this.#notes.slice(0, Math.max(0, limits.problemsOfFile - refused.length - unknown.length));
    const health = placed([...refused, ...unknown, ...notes], locate);
    const more = this.count - refused.length - unknown.length;
    if (more > 0) {
      const code = unknown.length === 0 ? 1103 : 1011;
      health.push({ code, message: `${more} more values in this file are not used and are not listed individually.` });
    }
    return health;
  }

  #like(code: 1011 | 1103 | 1114, scope: string): HealthProblem[] {
    if (code === 1011) return this.#unknown;
    if (code === 1114) return this.#untrusted;
    const known = this.#refused.get(scope);
    if (known !== undefined) return known;
    const made: HealthProblem[] = [];
    this.#refused.set(scope, made);
    return made;
  }
}

interface Judging {
  /** Finds the values' places for the report, if it is to have them. */
  readonly locate?: Locate;
  /** Whether a value was found good by these very rules before; none was. */
  isJudged?(path: ConfigPath, value: JsonValue): boolean;
  /** Shared by all values that were not acknowledged. */
  readonly spare?: SpareSteps;
  /** What somebody was told is set: each such value has spare steps of its own. `lastGood` if it is not given. */
  readonly acknowledged?: Config | undefined;
}

/**
 * What the `config` of a file means, field by field. A value its schema refuses leaves the last valid one active;
 * so does one that runs as a command and is not trusted, and a reference to a key that is not there, unless the last good
 * one is broken too: then the default serves.
 * Unknown scopes and fields are told and left alone. What stands by an old name of a field is its value, unless it has one by the new name.
 */
export function interpretConfig(...given: Parameters<typeof interpretingConfig>): Interpretation {
  return runToEnd(interpretingConfig(...given));
}

/** As `interpretConfig`; yields if it takes long. The scopes have to stay as they are meanwhile, or it counts for nothing. */
export function* interpretingConfig(
  raw: Config,
  inService: Config | undefined,
  rules: Rules,
  { locate = () => [], isJudged, spare = new SpareSteps(), acknowledged: known = inService }: Judging = {},
): Generator<void, Interpretation> {
  const { scopes } = rules;
  const renamed = withNewNames(raw, scopes);
  const { config } = renamed;
  const lastGood = inService && trustedByNewNames(inService, rules);
  const acknowledged = known && withNewNames(known, scopes).config;
  const stored: { [scope: string]: { [field: string]: JsonValue } } = {};
  const findings = new Findings(renamed);
  let refreshed = 0;
  let steps = 0;
  for (const scopeName of Object.keys(config)) {
    refreshed += 1;
    if (refreshed % checkedAtOnce === 0) yield;
    const scope = scopes.get(scopeName);
    if (scope === undefined) {
      if (findings.countIfFull()) continue;
      const message = () => `There is no scope "${shortName(scopeName)}"; its values are kept but not used.`;
      findings.add(1011, message, [scopeName]);
      continue;
    }
    const good: { [field: string]: JsonValue } = {};
    const fields = config[scopeName] ?? {};
    // A list of all values besides takes three times as long, and of what is unknown none is asked for.
    for (const name of Object.keys(fields)) {
      refreshed += 1;
      if (refreshed % checkedAtOnce === 0) yield;
      const field = scope.fields.get(name);
      if (field === undefined) {
        if (findings.countIfFull()) continue;
        const beside = scope.renamed.has(name) ? " any more, and the file also has it under its new name" : "";
        const message = () =>
          `There is no field "${joinConfigPath(scopeName, shortName(name))}"${beside}; its value is kept but not used.`;
        findings.add(1011, message, [scopeName, name]);
        continue;
      }
      const value = fields[name] ?? null;
      const isStillGood = (one: JsonValue) => isJudged?.({ scope: scopeName, field: name }, one) === true;
      if (isStillGood(value)) {
        good[name] = value;
        continue;
      }
      const previous = lastGood && configValue(lastGood, scopeName, name);
      const isInService = previous !== undefined && sameJson(previous, value);
      const ownSpare = new SpareSteps();
      const before = spare.taken;
      const isOwn = isInService || (acknowledged && sameJson(configValue(acknowledged, scopeName, name), value));
      let problem = field.validate(value, isOwn ? ownSpare : spare);
      // Engines for patterns keep what they found out: what was good for one that had met its like before costs less each time.
      for (let tries = 1; isOwn && problem?.rule === "steps" && tries < mostTries; tries++) {
        yield;
        // With one more it is no longer what is remembered.
        problem = field.validate(value, new SpareSteps(new SpareSteps().left + tries));
      }
      // What is active was trusted when it came there.
      const waits =
        problem === undefined &&
        !isInService &&
        field.isCommand &&
        !rules.isTrusted({ scope: scopeName, field: name }, value);
      const isGood = problem === undefined && !waits;
      const isPreviousGood = (one: JsonValue) => isStillGood(one) || field.validate(one, ownSpare) === undefined;
      const serves = !isGood && previous !== undefined && !isInService && isPreviousGood(previous);
      if (isGood) good[name] = value;
      else if (serves) good[name] = previous;
      steps += ownSpare.taken + spare.taken - before;
      if (steps >= stepsAtOnce) {
        yield;
        steps = 0;
      }
      if (isGood) continue;
      const used = serves ? "its last valid value" : "its default";
      const message = () =>
        `${joinConfigPath(scopeName, name)} ${problem === undefined ? untrusted : problem.message}; using ${used}.`;
      // Where nothing stands, as with a member that is missing, the place is the value's own.
      const inside = problem !== undefined && valueAt(value, problem.path) !== undefined ? problem.path : "";
      findings.add(problem === undefined ? 1114 : 1103, message, [scopeName, name], inside);
    }
    stored[scopeName] = good;
  }
  if (refreshed >= checkedAtOnce) yield;
  resolveReferences(stored, lastGood, scopes, findings);
  if (refreshed >= checkedAtOnce) yield;
  return { stored: findings.count === 0 && config === raw ? raw : stored, health: findings.health(locate) };
}

/** Active values by the names of now. A command that became active by another name has to be trusted, as the field may have been no command. */
function trustedByNewNames(inService: Config, { scopes, isTrusted }: Rules): Config {
  const { config, byOldName } = withNewNames(inService, scopes);
  const untrusted = byOldName.filter(({ scope, field, oldName }) => {
    const value = configValue(inService, scope, oldName);
    return scopes.isCommand(scope, field) && value !== undefined && !isTrusted({ scope, field }, value);
  });
  if (untrusted.length === 0) return config;
  return applyConfigEdits(
    config,
    untrusted.map(({ scope, field }) => ({ scope, field, value: undefined })),
  );
}

/** Whether all of a configuration is active, or can be. The rules are still those that the active values were judged by. */
export function isServed(config: Config, inService: Config | undefined, { scopes, isTrusted }: Rules): boolean {
  const spare = new SpareSteps();
  return (
    Object.keys(config).every(name => {
      const [scope, fields] = [scopes.get(name), config[name] ?? {}];
      return (
        scope !== undefined &&
        Object.keys(fields).every(field => {
          const known = scope.fields.get(field);
          const value = fields[field] ?? null;
          const now = inService && configValue(inService, name, field);
          if (known !== undefined && now !== undefined && sameJson(now, value)) return true;
          if (known === undefined || known.validate(value, spare) !== undefined) return false;
          return !known.isCommand || isTrusted({ scope: name, field }, value);
        })
      );
    }) && scopes.brokenReferences((scope, field) => configValue(config, scope, field)).length === 0
  );
}

const untrusted =
  "runs as a command and came with the work tree's file, so a person must trust it first: run repoconf trust in that folder, or use the screen";

/** Whether these edits, each good for its field, leave a configuration active as a whole if it was so before. */
export function areServed(edits: readonly ConfigEdit[], edited: Config, scopes: Scopes): boolean {
  return (
    edits.every(({ scope, field }) => scopes.field(scope, field) !== undefined) &&
    scopes.brokenReferences((scope, field) => configValue(edited, scope, field)).length === 0
  );
}

function resolveReferences(
  stored: { [scope: string]: { [field: string]: JsonValue } },
  lastGood: Config | undefined,
  scopes: Scopes,
  findings: Findings,
): void {
  const storedAt = (scope: string, field: string) => configValue(stored, scope, field);
  for (const { scope, field, target, value } of scopes.brokenReferences(storedAt)) {
    const fields = stored[scope];
    if (fields === undefined) continue;
    const path = joinConfigPath(scope, field);
    delete fields[field];
    const previous = lastGood && configValue(lastGood, scope, field);
    if (previous !== undefined && previous !== value) {
      fields[field] = previous;
      if (scopes.isBrokenReference(scope, field, storedAt)) delete fields[field];
    }
    const used = Object.hasOwn(fields, field) ? "its last valid value" : "its default";
    const message = () =>
      `${path} refers to "${shortName(value)}", which is not a key of ${joinConfigPath(scope, target)}; using ${used}.`;
    findings.add(1103, message, [scope, field]);
  }
}

/** No name of a scope or a field is longer. */
function shortName(name: string): string {
  return shortened(name, limits.shownName);
}
