import { applyConfigEdits, type Config, configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import type { HealthProblem } from "../../../shared/protocol.ts";
import { runToEnd } from "../../../shared/run-to-end.ts";
import { partsOf, SpareSteps } from "../../../shared/schema/step-budget.ts";
import { describeEffect } from "../../../shared/scopes/describe-effect.ts";
import { effectOf, type FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import { shortened } from "../../../shared/shortened.ts";
import { pointerTokens, valueAt } from "../../../shared/value-edit.ts";
import { showPointer } from "../../../shared/value-place.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { type Renamed, withNewNames } from "./renamed-fields.ts";

type Place = { readonly line: number; readonly column: number };
/** Finds the places of values, in the order of the paths. Call it once for all paths, because each call walks the text. */
export type Locate = (paths: readonly (readonly string[])[]) => readonly (Place | undefined)[];

/** The rules that values are checked by. */
export interface Rules {
  readonly scopes: Scopes;
  /** Whether a value that runs as a command may become active. */
  isTrusted(path: ConfigPath, value: JsonValue): boolean;
  /** They are the values of a layer above another one: rules across fields apply only to what counts over all layers. */
  readonly isLayer?: boolean;
}

export interface Interpretation {
  /** The active values; the given object itself if all of it is active. */
  readonly stored: Config;
  /** Fields whose value in the file is inactive, and why: up to `limits.problemsOfFile`, and the number of others. */
  readonly health: readonly HealthProblem[];
}

/** Values checked before a yield. They share the spare steps beyond those for their size. */
const checkedAtOnce = 2_000;
/** Steps of checks before a yield: a few milliseconds. */
const stepsAtOnce = 100_000;

/** How often the check of an active or acknowledged value may run out of steps before the value is refused. */
const mostTries = 10;

/** Where a problem is: scope, field, and the part of the value, "" for all of it. */
interface ProblemPath {
  readonly value: readonly string[];
  /** JSON pointer. */
  readonly inside: string;
}

/** The paths of problems, because a problem itself only has names for display. */
const pathsOfProblems = new WeakMap<HealthProblem, ProblemPath>();

/** The key for the place of a whole value, given a path to it or into it. */
function placeOfValue(path: readonly string[]): string {
  return JSON.stringify(path.slice(0, 2));
}

function insideOf({ value, inside }: ProblemPath): readonly string[] {
  return inside === "" ? value : [...value, ...pointerTokens(inside)];
}

/** The problems with their current places. */
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

/** The problems with the places of the same values in `known`. */
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

/** The problems of a file, as many as can be reported. */
class Findings {
  /** By scope, so that many problems in one scope do not hide those of another from a key that may read only that one. */
  readonly #refused = new Map<string, HealthProblem[]>();
  readonly #untrusted: HealthProblem[] = [];
  readonly #unknown: HealthProblem[] = [];
  readonly #notes: HealthProblem[] = [];
  /** The places of fields that the text has under an old name. */
  readonly #places: ReadonlyMap<string, readonly string[]>;
  /** The number of problems; notes are not counted. */
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

  /** Notes that an active value does not have its format. */
  addMisfit(path: readonly [scope: string, field: string], message: string, inside: string): void {
    if (this.#notes.length < limits.problemsOfFile) this.#notes.push(this.#problem(1115, message, path, inside));
  }

  /** `message` is called only if the problem can be reported. `inside`: a JSON pointer to the invalid part of the value. */
  add(
    code: 1011 | 1103 | 1114,
    message: () => string,
    path: readonly [scope: string, ...field: string[]],
    inside = "",
  ): void {
    this.count += 1;
    const found = code === 1011 ? this.#unknown : code === 1114 ? this.#untrusted : (this.#refused.get(path[0]) ?? []);
    if (code === 1103) this.#refused.set(path[0], found);
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

  /** Problems that make a value inactive come first. */
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
}

interface InterpretOptions {
  /** Finds the values' places; if omitted, problems have no places. */
  readonly locate?: Locate;
  /** Whether a value was already found valid by these rules; if omitted, none was. */
  isChecked?(path: ConfigPath, value: JsonValue): boolean;
  /** Shared by all values that were not acknowledged. */
  readonly spare?: SpareSteps;
  /** Values whose sets were acknowledged: each has spare steps of its own. If omitted: `lastGood`. */
  readonly acknowledged?: Config | undefined;
}

/**
 * Interprets the `config` of a file, field by field. The last valid value stays active if the schema refuses the value, if it runs as a
 * command and is not trusted, or if it refers to a missing key; if the last valid reference is broken too, the default is active.
 * Unknown scopes and fields are reported and left alone. A value under a field's old name counts unless there is one under the new name.
 */
export function interpretConfig(...given: Parameters<typeof interpretingConfig>): Interpretation {
  return runToEnd(interpretingConfig(...given));
}

/** As `interpretConfig`; yields if it takes long. If the scopes change meanwhile, the result is invalid. */
export function* interpretingConfig(
  raw: Config,
  active: Config | undefined,
  rules: Rules,
  { locate = () => [], isChecked, spare = new SpareSteps(), acknowledged: known = active }: InterpretOptions = {},
): Generator<void, Interpretation> {
  const { scopes } = rules;
  const renamed = withNewNames(raw, scopes);
  const { config } = renamed;
  const lastGood = active && trustedByNewRules(active, rules);
  const acknowledged = known && withNewNames(known, scopes).config;
  const stored: { [scope: string]: { [field: string]: JsonValue } } = {};
  const findings = new Findings(renamed);
  let refreshed = 0;
  let steps = 0;
  /** Counts steps; returns whether it is time to yield. */
  const takes = (more: number) => {
    steps = (steps >= stepsAtOnce ? 0 : steps) + more;
    return steps >= stepsAtOnce;
  };
  for (const scopeName of Object.keys(config)) {
    refreshed += 1;
    if (refreshed % checkedAtOnce === 0) yield;
    const scope = scopes.get(scopeName);
    if (scope === undefined) {
      const message = () => `There is no scope "${shortName(scopeName)}"; its values are kept but not used.`;
      findings.add(1011, message, [scopeName]);
      continue;
    }
    const good: { [field: string]: JsonValue } = {};
    const fields = config[scopeName] ?? {};
    // Building a list of all values would take three times as long, and values of unknown scopes are not needed.
    for (const name of Object.keys(fields)) {
      refreshed += 1;
      if (refreshed % checkedAtOnce === 0) yield;
      const field = scope.fields.get(name);
      if (field === undefined) {
        const beside = scope.renamed.has(name) ? " any more, and the file also has it under its new name" : "";
        const message = () =>
          `There is no field "${joinConfigPath(scopeName, shortName(name))}"${beside}; its value is kept but not used.`;
        findings.add(1011, message, [scopeName, name]);
        continue;
      }
      const value = fields[name] ?? null;
      const isStillGood = (one: JsonValue) => isChecked?.({ scope: scopeName, field: name }, one) === true;
      const noteMisfit = () => {
        const misfit = field.misfit(value);
        if (misfit === undefined) return;
        const place = showPointer(joinConfigPath(scopeName, name), misfit.path, value, field.schema);
        findings.addMisfit([scopeName, name], `${place} ${misfit.message}; it is used all the same.`, misfit.path);
      };
      if (isStillGood(value)) {
        good[name] = value;
        noteMisfit();
        continue;
      }
      const previous = lastGood && configValue(lastGood, scopeName, name);
      const isInService = previous !== undefined && sameJson(previous, value);
      const setBefore = acknowledged && configValue(acknowledged, scopeName, name);
      const isOwn = isInService || (setBefore !== previous && sameJson(setBefore, value));
      // Comparing a large value takes about as long as checking it.
      const parts = partsOf(value);
      if (takes(parts)) yield;
      const ownSpare = new SpareSteps();
      const before = spare.taken;
      let problem = field.validate(value, isOwn ? ownSpare : spare);
      // A pattern engine caches its states, so a value that ran out of steps once may need fewer steps each time.
      for (let tries = 1; isOwn && problem?.rule === "steps" && tries < mostTries; tries++) {
        yield;
        // With a different number of spare steps the cached result is not used.
        problem = field.validate(value, new SpareSteps(new SpareSteps().left + tries));
      }
      // The last valid values are trusted.
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
      if (takes(parts + ownSpare.taken + spare.taken - before)) yield;
      if (isGood) noteMisfit();
      if (isGood) continue;
      const used = serves ? "its last valid value" : rules.isLayer ? "the value of the layer below" : "its default";
      const message = () =>
        `${showPointer(joinConfigPath(scopeName, name), problem?.path ?? "", value, field.schema)} ${problem === undefined ? untrusted(scopeName, name, field.schema) : problem.message}; using ${used}.`;
      // If there is nothing at the path, such as a missing member, the problem is at the value itself.
      const inside = problem !== undefined && valueAt(value, problem.path) !== undefined ? problem.path : "";
      findings.add(problem === undefined ? 1114 : 1103, message, [scopeName, name], inside);
    }
    stored[scopeName] = good;
  }
  if (refreshed >= checkedAtOnce) yield;
  if (!rules.isLayer) resolveReferences(stored, lastGood, scopes, findings);
  if (refreshed >= checkedAtOnce) yield;
  return { stored: findings.count === 0 && config === raw ? raw : stored, health: findings.health(locate) };
}

/**
 * Active values under today's names, without untrusted commands: by the rules under which a value became active it may have been a plain
 * text, or another variable. The given object itself if nothing differs.
 */
export function trustedByNewRules(active: Config, { scopes, isTrusted }: Rules): Config {
  const { config } = withNewNames(active, scopes);
  const untrusted = scopes.commands.filter(({ scope, field }) => {
    const value = configValue(config, scope, field);
    return value !== undefined && !isTrusted({ scope, field }, value);
  });
  if (untrusted.length === 0) return config;
  return applyConfigEdits(
    config,
    untrusted.map(path => ({ ...path, value: undefined })),
  );
}

function untrusted(scope: string, field: string, schema: FieldSchema): string {
  return `${describeEffect(effectOf(schema), joinConfigPath(scope, field))}, and no person has set or trusted it as that: run repoconf trust in that folder, or use the screen`;
}

function resolveReferences(
  stored: { [scope: string]: { [field: string]: JsonValue } },
  lastGood: Config | undefined,
  scopes: Scopes,
  findings: Findings,
): void {
  const storedAt = (scope: string, field: string) => configValue(stored, scope, field);
  for (const { scope, field, target, value, shown } of scopes.brokenReferences(storedAt)) {
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
      `${path} refers to ${shown}, which is not a key of ${joinConfigPath(scope, target)}; using ${used}.`;
    findings.add(1103, message, [scope, field]);
  }
}

/** Shortens a name to the longest that a scope or field can have. */
function shortName(name: string): string {
  return shortened(name, limits.shownName);
}
