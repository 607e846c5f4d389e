import { configEntries, configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { effectOf } from "../../../shared/scopes/scope-schema.ts";
import type { RepositoryContext } from "../state/repository-context.ts";
import { storageFailure } from "../storage-failure.ts";
import type { WaitingValue } from "../types.ts";
import { valueByAnyName, withNewNames } from "../values/renamed-fields.ts";
import { trustHash } from "../values/trusted-values.ts";
import type { FileReader } from "./parts.ts";

/** The values of a work tree's file, as last read, that are not trusted yet. */
export function waitingValues(context: RepositoryContext): readonly WaitingValue[] {
  const { stored, health, broken } = context.current;
  const { scopes } = context.store;
  if (broken !== undefined) return [];
  const untrusted = new Set(health.filter(({ code }) => code === 1114).map(({ field }) => field));
  return [...configEntries(withNewNames(context.committed.target, scopes).config)]
    .filter(({ scope, field }) => untrusted.has(joinConfigPath(scope, field)))
    .map(({ scope, field, value }) => {
      const serving = configValue(stored ?? {}, scope, field);
      const effect = effectOf(scopes.field(scope, field)?.schema ?? {});
      const hash = trustHash(scopes, { scope, field }, value);
      return { scope, field, value, effect, hash, ...(serving !== undefined && { serving }) };
    });
}

/**
 * Trusts the waiting value of a field, identified by its hash (of the value and what it would do), and makes it active. Returns the revision. Call it inside `exclusive`.
 * Throws RepoconfError 1102, 1104 if the file has another value or the schema another effect by now, 1106 or 1108.
 */
export async function acceptValue(
  context: RepositoryContext,
  reader: FileReader,
  path: ConfigPath,
  hash: string,
): Promise<number> {
  await reader.bringUpToDate();
  const refusal = reader.refusal;
  if (refusal !== undefined) throw refusal;
  const { trust } = context.store;
  const waiting = waitingValues(context).find(({ scope, field }) => scope === path.scope && field === path.field);
  if (waiting?.hash !== hash) {
    const value = valueByAnyName(context.committed.target, path, context.store.scopes);
    // It has been accepted already.
    if (waiting === undefined && value !== undefined && trustHash(context.store.scopes, path, value) === hash)
      return context.current.revision;
    throw anotherValue(context.id, path);
  }
  try {
    await trust.addDurably(context.trustedAs, [{ path, hash }]);
  } catch (error) {
    throw storageFailure(context.id, error);
  }
  await context.mirror.locked(() => reader.reconcile(context.committed.target, "file"));
  if (reader.unrecorded !== undefined) throw storageFailure(context.id, reader.unrecorded);
  return context.current.revision;
}

function anotherValue(repo: string, { scope, field }: ConfigPath): RepoconfError {
  const path = joinConfigPath(scope, field);
  const message = `The value of ${path} that you reviewed is no longer waiting for trust: the file or the field's schema may have changed. Review it again.`;
  return new RepoconfError(1104, message, { repo, field: path });
}
