import { type Config, configValue } from "../../../shared/config.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import { effectOf, type FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { runInParts } from "../../time/turns.ts";
import type { RepositoryContext } from "../state/repository-context.ts";
import { interpretingConfig } from "../values/interpret.ts";
import { valueByAnyName } from "../values/renamed-fields.ts";

/** A value of a repository that a scope would make a command or an environment variable. */
export interface PreviewedValue {
  readonly field: string;
  readonly value: JsonValue;
  /** Whether the file has the value; otherwise it is the schema's default. */
  readonly stored: boolean;
  /** Whether it would wait for trust of its own. */
  readonly waits: boolean;
}

/**
 * The values that would run as commands with these scopes, in the scope `name`, and that do not run in the same way already, or wait
 * for it. Interprets the file's values as after a change of the scope.
 */
export async function previewScope(
  context: RepositoryContext,
  scopes: Scopes,
  name: string,
): Promise<PreviewedValue[]> {
  const { scopes: present } = context.store;
  const { current } = context;
  const target = only(context.committed.target, name);
  const active = current.stored && only(current.stored, name);
  const { stored, health } = await runInParts(interpretingConfig(target, active, context.rulesOf(scopes)));
  const found: PreviewedValue[] = [];
  for (const { scope, field } of scopes.commands) {
    if (scope !== name) continue;
    const path = joinConfigPath(scope, field);
    const [before, after] = [present.field(scope, field)?.schema, scopes.field(scope, field)?.schema];
    const isSameEffect = sameEffect(before, after);
    const isWaiting = (problems: typeof health) => problems.some(({ code, field: at }) => code === 1114 && at === path);
    const waiting = isWaiting(health) ? valueByAnyName(target, { scope, field }, scopes) : undefined;
    if (waiting !== undefined && !(isSameEffect && isWaiting(current.health)))
      found.push({ field: path, value: waiting, stored: true, waits: true });
    const own = configValue(stored, scope, field);
    const value = own ?? after?.default ?? null;
    const now = configValue(active ?? {}, scope, field) ?? before?.default;
    // null, also of a field without a default, sets no variable and runs nothing.
    if (value !== null && !(isSameEffect && sameJson(now, value)))
      found.push({ field: path, value, stored: own !== undefined, waits: false });
  }
  return found;
}

/** Whether a field had an effect before and has the same one afterwards. */
export function sameEffect(before: FieldSchema | undefined, after: FieldSchema | undefined): boolean {
  return before !== undefined && after !== undefined && sameJson({ ...effectOf(before) }, { ...effectOf(after) });
}

function only(config: Config, scope: string): Config {
  const fields = config[scope];
  return Object.hasOwn(config, scope) && fields !== undefined ? { [scope]: fields } : {};
}
