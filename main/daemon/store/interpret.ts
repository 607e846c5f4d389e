import { type Config, type ConfigEdit, configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import type { HealthProblem } from "../../../shared/protocol.ts";
import type { Scopes } from "../scopes.ts";

export type Locate = (path: readonly string[]) => { readonly line: number; readonly column: number } | undefined;

/** What values are judged by. */
export interface Rules {
  readonly scopes: Scopes;
  /** Whether a value that runs as a command may come into service. */
  isTrusted(path: ConfigPath, value: JsonValue): boolean;
}

export interface Interpretation {
  /** The stored values in service; the very object that was given if those are all of it. */
  readonly stored: Config;
  /** Fields whose text is not in service, and why. */
  readonly health: readonly HealthProblem[];
}

/**
 * What the `config` of a file means, field by field. A value its schema refuses leaves the last good one in service;
 * so does one that runs as a command and is not trusted, and a reference to a key that is not there, unless the last good
 * one is broken too: then the default serves.
 * Unknown scopes and fields are told and left alone. `locate` finds a value's place for the report. `isJudged`: the
 * last good values were judged by these very rules, so what is still one of them is not judged again.
 */
export function interpretConfig(
  raw: Config,
  lastGood: Config | undefined,
  rules: Rules,
  locate: Locate,
  isJudged = false,
): Interpretation {
  const { scopes } = rules;
  const stored: { [scope: string]: { [field: string]: JsonValue } } = {};
  const health: HealthProblem[] = [];
  for (const [scopeName, fields] of Object.entries(raw)) {
    const scope = scopes.get(scopeName);
    if (scope === undefined) {
      const message = `There is no scope "${scopeName}"; its values are kept and not used.`;
      health.push({ code: 1011, message, field: scopeName, ...locate([scopeName]) });
      continue;
    }
    const good: { [field: string]: JsonValue } = {};
    for (const [name, value] of Object.entries(fields)) {
      const path = joinConfigPath(scopeName, name);
      const field = scope.fields.get(name);
      if (field === undefined) {
        const message = `There is no field "${path}"; its value is kept and not used.`;
        health.push({ code: 1011, message, field: path, ...locate([scopeName, name]) });
        continue;
      }
      const isStillGood = isJudged && lastGood !== undefined && configValue(lastGood, scopeName, name) === value;
      const previous = lastGood && configValue(lastGood, scopeName, name);
      const refused = isStillGood ? undefined : field.validate(value);
      // What is in service was trusted when it came there.
      const isFree = isStillGood || !field.isCommand || (previous !== undefined && sameJson(previous, value));
      const waits = refused === undefined && !isFree && !rules.isTrusted({ scope: scopeName, field: name }, value);
      if (refused === undefined && !waits) {
        good[name] = value;
        continue;
      }
      const serves = previous !== undefined && field.validate(previous) === undefined;
      if (serves) good[name] = previous;
      const used = `${serves ? "its last good value" : "its default"} is used.`;
      const place = { field: path, ...locate([scopeName, name]) };
      if (refused === undefined) health.push({ code: 1114, message: `${path} ${untrusted}; ${used}`, ...place });
      else health.push({ code: 1103, message: `${path} ${refused.message}; ${used}`, ...place });
    }
    stored[scopeName] = good;
  }
  settleReferences(stored, lastGood, scopes, locate, health);
  return { stored: health.length === 0 ? raw : stored, health };
}

const untrusted =
  "runs as a command and came with the work tree's file, so it waits until a person trusts it: type repoconf trust in that folder, or use the screen";

/** Whether these edits of a configuration that was in service as a whole leave it so. */
export function areServed(edits: readonly ConfigEdit[], edited: Config, scopes: Scopes): boolean {
  return (
    edits.every(({ scope, field, value }) => {
      const known = scopes.field(scope, field);
      return known !== undefined && (value === undefined || known.validate(value) === undefined);
    }) && scopes.brokenReferences((scope, field) => configValue(edited, scope, field)).length === 0
  );
}

function settleReferences(
  stored: { [scope: string]: { [field: string]: JsonValue } },
  lastGood: Config | undefined,
  scopes: Scopes,
  locate: Locate,
  health: HealthProblem[],
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
      const stillBroken = scopes
        .brokenReferences(storedAt)
        .some(other => other.scope === scope && other.field === field);
      if (stillBroken) delete fields[field];
    }
    const used = Object.hasOwn(fields, field) ? "its last good value" : "its default";
    const message = `${path} names "${value}", which is no key of ${joinConfigPath(scope, target)}; ${used} is used.`;
    health.push({ code: 1103, message, field: path, ...locate([scope, field]) });
  }
}
