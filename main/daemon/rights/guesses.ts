import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import type { JsonValue } from "../../../shared/json.ts";
import { limits } from "../../../shared/limits.ts";
import { needsReveal } from "../../../shared/scopes/hidden-values.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { historyFrom, type RecordedDocument } from "../../store/history/repository-history.ts";
import type { FileRoom } from "../../store/types.ts";
import type { Turn } from "../../time/yielding.ts";
import type { Caller } from "../keys/caller.ts";
import { isHidden } from "./reveal.ts";

/**
 * The secrets (`LAYER PATH`) that were set since a revision. Each is in a restore's revision, also if the owner asks for it: whether it differs would
 * tell a key whether what it set is what was there before.
 */
export async function secretsSince(
  repository: RecordedDocument,
  revision: number,
  scopes: Pick<Scopes, "field">,
  turn: Turn,
): Promise<ReadonlySet<string>> {
  const set = new Set<string>();
  for await (const record of historyFrom(repository, repository.state.revision, turn)) {
    if (record.revision <= revision) break;
    if (record.kind !== "change") continue;
    const { changes, layer } = record.ofLayer ?? { ...record, layer: "shared" };
    for (const { scope, field, before, after } of changes)
      if (needsReveal(scopes.field(scope, field)?.schema, before, after))
        set.add(`${layer} ${joinConfigPath(scope, field)}`);
  }
  return set;
}

/** How much of a file the caller may fill: less than all of it for a limited key, so that the owner can still add something. */
export function roomOf(caller: Caller, scopes: Pick<Scopes, "field">): FileRoom | undefined {
  if (caller.owner) return undefined;
  const hides = ({ scope, field }: ConfigPath, value: JsonValue) =>
    isHidden(caller, scopes.field(scope, field)?.schema, value);
  return { bytes: limits.repositoryFileBytesOfKey, hides };
}
