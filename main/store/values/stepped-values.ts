import { applyConfigEdits, type Config, type ConfigEdit, configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { CountedLayer, HealthProblem } from "../../../shared/protocol.ts";
import type { FieldStep, Scopes } from "../../scopes/scopes.ts";
import type { RepositoryInfo } from "../types.ts";

/** See `LayerValues`. */
interface InheritedLayer {
  readonly name: CountedLayer;
  readonly stored: Config;
  readonly slot?: number | undefined;
}

/** Whether the values of a repository are higher than those that it inherits: it is a linked worktree, and fields have `x-step`. */
export function hasSteps({ linked }: Pick<RepositoryInfo, "linked">, scopes: Scopes): boolean {
  return scopes.steps.length > 0 && (linked?.slot ?? 0) > 0;
}

/** What counts and is stored in a layer: without the defaults that are higher in a linked worktree. */
export function withoutRaisedDefaults(counted: Config, layers: readonly InheritedLayer[], scopes: Scopes): Config {
  const isRaised = ({ scope, field }: ConfigPath) =>
    isStepped(layers, { scope, field }, scopes) &&
    configValue(counted, scope, field) !== undefined &&
    layers.every(({ stored }) => configValue(stored, scope, field) === undefined);
  const edits = scopes.steps.filter(isRaised).map(({ scope, field }) => ({ scope, field, value: undefined }));
  return edits.length === 0 ? counted : applyConfigEdits(counted, edits);
}

/** Whether what these layers inherit of a field is higher by the slot of the worktree. */
export function isStepped([lowest]: readonly InheritedLayer[], path: ConfigPath, scopes: Scopes): boolean {
  return (lowest?.slot ?? 0) > 0 && scopes.field(path.scope, path.field)?.schema["x-step"] !== undefined;
}

/** How much higher the value of a field is than the one that a worktree inherits; undefined if it is that one, or its own. */
export function addedByStep(layers: readonly InheritedLayer[], path: ConfigPath, scopes: Scopes): number | undefined {
  const step = scopes.steps.find(({ scope, field }) => scope === path.scope && field === path.field);
  const inherited = step && inheritedOf(configOf(layers), layers, step, scopes);
  return inherited !== undefined && "raised" in inherited ? inherited.by : undefined;

  function configOf(all: readonly InheritedLayer[]): Config {
    // The topmost value of an integer or a text is the one that counts.
    const values = all.map(({ stored }) => configValue(stored, path.scope, path.field));
    const value = values.findLast(one => one !== undefined);
    return applyConfigEdits({}, [{ ...path, value }]);
  }
}

/** What counts in layers, with what a linked worktree inherits raised by its slot. `counted`: without that. */
export function withSteps(
  counted: Config,
  layers: readonly InheritedLayer[],
  scopes: Scopes,
): { readonly stored: Config; readonly health: readonly HealthProblem[] } {
  const edits: ConfigEdit[] = [];
  const health: HealthProblem[] = [];
  for (const step of scopes.steps) {
    const inherited = inheritedOf(counted, layers, step, scopes);
    if (inherited === undefined) continue;
    const { scope, field } = step;
    if ("raised" in inherited) edits.push({ scope, field, value: inherited.raised });
    else health.push(notHigher(joinConfigPath(scope, field), inherited));
  }
  return { stored: edits.length === 0 ? counted : applyConfigEdits(counted, edits), health };
}

type Inherited = { readonly by: number } & ({ readonly raised: JsonValue } | { readonly problem: string });

/** What a worktree inherits of a field; undefined if nothing is to be raised. */
function inheritedOf(
  counted: Config,
  layers: readonly InheritedLayer[],
  { scope, field, step }: FieldStep,
  scopes: Scopes,
): Inherited | undefined {
  const by = step * (layers[0]?.slot ?? 0);
  const own = layers.find(({ name }) => name === "local")?.stored ?? {};
  const known = scopes.field(scope, field);
  if (by === 0 || known === undefined || configValue(own, scope, field) !== undefined) return undefined;
  const stored = configValue(counted, scope, field);
  const value = stored === undefined ? known.schema.default : stored;
  // Nothing is set.
  if (value === null || value === "") return undefined;
  const raised = higher(value, by);
  if (raised === undefined) return { by, problem: "is not a whole number in digits" };
  const problem = known.validate(raised);
  return problem === undefined ? { by, raised } : { by, problem: problem.message };
}

/** The number, or the text of one, that is `by` higher; undefined if there is none. */
function higher(value: JsonValue, by: number): JsonValue | undefined {
  const isDigits = typeof value === "string" && /^(?:0|[1-9]\d{0,15})$/.test(value);
  const raised = isDigits || typeof value === "number" ? Number(value) + by : Number.NaN;
  if (!Number.isSafeInteger(raised)) return undefined;
  return isDigits ? String(raised) : raised;
}

function notHigher(path: string, { by, problem }: Inherited & { readonly problem: string }): HealthProblem {
  const message = `${path} would be ${by} higher in this worktree, by its schema (x-step), but ${problem}; it is used as it is in the main work tree. Give this worktree a value of its own: repoconf set --local ${path}=VALUE`;
  return { code: 1103, message, field: path };
}
