import { joinConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { PreviewedEffect } from "../../../shared/protocol.ts";
import { effectOf } from "../../../shared/scopes/scope-schema.ts";
import { JsonTextError, readJsonText } from "../../files/json-text.ts";
import { ScopeSchemaError } from "../../scopes/schema-faults.ts";
import { compilingScope, type Scope, type Scopes } from "../../scopes/scopes.ts";
import { type PreviewedValue, sameEffect } from "../../store/repository/scope-preview.ts";
import type { Store } from "../../store/store.ts";
import { hashOfValue } from "../../store/values/trusted-values.ts";
import { runInParts } from "../../time/turns.ts";
import type { Turn } from "../../time/yielding.ts";

/**
 * The values of all repositories that a scope would make commands or environment variables, and its new defaults of such fields: what a
 * person needs to see before accepting the scope. Throws RepoconfError 1101 if the schema cannot be used.
 */
export async function previewInAll(
  store: Store,
  present: Scopes,
  { name, text, turn }: { readonly name: string; readonly text: string; readonly turn: Turn },
): Promise<PreviewedEffect[]> {
  const scope = await compiled(name, text);
  const scopes = present.with(scope);
  const groups = new Map<string, PreviewedValue & { readonly repos: string[] }>();
  const groupOf = (one: PreviewedValue) => {
    const key = `${one.field} ${one.stored} ${one.waits} ${hashOfValue(one.value)}`;
    const group = groups.get(key) ?? { ...one, repos: [] };
    groups.set(key, group);
    return group;
  };
  const commands = [...scope.fields].filter(([, { isCommand }]) => isCommand);
  for (const [field, { schema }] of commands) {
    const before = present.field(name, field)?.schema;
    // As in the repositories.
    if (schema.default === null) continue;
    if (sameEffect(before, schema) && hashOfValue(before?.default ?? null) === hashOfValue(schema.default)) continue;
    groupOf({ field: joinConfigPath(name, field), value: schema.default, stored: false, waits: false });
  }
  for (const id of [...store.repositories.ids()].sort()) {
    if (turn.isOver) await turn.pass();
    const values = await store.repositories.get(id)?.previewScope(scopes, name);
    for (const one of values ?? []) groupOf(one).repos.push(id);
  }
  return commands.flatMap(([field, { schema }]) => {
    const path = joinConfigPath(name, field);
    const found = [...groups.values()].filter(one => one.field === path);
    const sorted = [...found.filter(({ stored }) => !stored), ...found.filter(({ stored }) => stored)];
    return sorted.map(one => ({ ...one, effect: effectOf(schema) }));
  });
}

async function compiled(name: string, text: string): Promise<Scope> {
  try {
    if (name === "svc") throw new ScopeSchemaError("svc is a built-in scope and cannot be replaced");
    const { value } = await readJsonText(text);
    return await runInParts(compilingScope(name, value));
  } catch (error) {
    if (!(error instanceof ScopeSchemaError || error instanceof JsonTextError)) throw error;
    throw new RepoconfError(1101, `This schema cannot be used: ${error.message}. Correct it and retry.`);
  }
}
