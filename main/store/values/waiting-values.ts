import { configEntries, configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { effectOf } from "../../../shared/scopes/scope-schema.ts";
import type { HandEditReader } from "../hand-edits/hand-edit-reader.ts";
import type { ServedState } from "../repository/repository-state.ts";
import { storageFailure } from "../storage-failure.ts";
import type { WaitingValue } from "../types.ts";
import { valueByAnyName, withNewNames } from "./renamed-fields.ts";
import { trustHash } from "./trusted-values.ts";

/** The values of a work tree's file, as last read, that are not trusted yet. */
export function waitingValues(served: ServedState): readonly WaitingValue[] {
  const { stored, health, broken } = served.current;
  const { scopes } = served.context;
  if (broken !== undefined) return [];
  const untrusted = new Set(health.filter(({ code }) => code === 1114).map(({ field }) => field));
  return [...configEntries(withNewNames(served.committed.wanted, scopes).config)]
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
  served: ServedState,
  reader: HandEditReader,
  path: ConfigPath,
  hash: string,
): Promise<number> {
  await reader.bringUpToDate();
  const refusal = reader.refusal;
  if (refusal !== undefined) throw refusal;
  const { trust } = served.context;
  const waiting = waitingValues(served).find(({ scope, field }) => scope === path.scope && field === path.field);
  if (waiting?.hash !== hash) {
    const value = valueByAnyName(served.committed.wanted, path, served.context.scopes);
    // It has been accepted already.
    if (waiting === undefined && value !== undefined && trustHash(served.context.scopes, path, value) === hash)
      return served.current.revision;
    throw anotherValue(served.id, path);
  }
  try {
    await trust.add(served.id, [{ path, hash }]);
  } catch (error) {
    throw storageFailure(served.id, error);
  }
  await served.mirror.inTurn(() => reader.reconcile(served.committed.wanted, "file"));
  if (reader.unrecorded !== undefined) throw storageFailure(served.id, reader.unrecorded);
  return served.current.revision;
}

function anotherValue(repo: string, { scope, field }: ConfigPath): RepoconfError {
  const path = joinConfigPath(scope, field);
  const message = `The value of ${path} that you reviewed is no longer waiting for trust: the file or the field's schema may have changed. Review it again.`;
  return new RepoconfError(1104, message, { repo, field: path });
}
