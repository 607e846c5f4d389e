import { configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { localDocumentOf } from "../../../shared/repository-id.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { LayerEdit, RepositoryState } from "../../store/types.ts";
import { layersOf } from "../../store/values/counted-values.ts";
import type { TrustedValues } from "../../store/values/trusted-values.ts";

/**
 * Those of the accepted edits that come from changes of a part of a value (`changes`, by path) which a key without the right to set commands
 * set. Who changes a part has not set the rest: it stays a value that must not become a command by a later schema.
 */
export function plainParts(
  trust: Pick<TrustedValues, "isPlain">,
  scopes: Scopes,
  state: RepositoryState,
  accepted: readonly LayerEdit[],
  changes: ReadonlyMap<string, unknown> = new Map(),
): readonly LayerEdit[] {
  return accepted.filter(
    edit => changes.has(joinConfigPath(edit.scope, edit.field)) && hasPlainValue(trust, scopes, state, edit),
  );
}

function hasPlainValue(
  trust: Pick<TrustedValues, "isPlain">,
  scopes: Scopes,
  state: RepositoryState,
  { scope, field }: ConfigPath,
): boolean {
  const { id, base = id } = state;
  return layersOf(state).some(({ name, stored }) => {
    const value = configValue(stored, scope, field);
    const document = name === "shared" ? base : localDocumentOf(name === "base" ? base : id);
    return value !== undefined && trust.isPlain(document, scopes, { scope, field }, value);
  });
}
