import { type LeftField, previewUndo } from "../../shared/client/undo-batch.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import type { FoundHistoryEntry } from "../../shared/protocol.ts";
import type { FieldChange } from "../diff/diff-lines.ts";
import { unknownSchema } from "../parts/show-json.ts";
import { findField, nameOfRepository, type ScopeEntry, type ScreenState } from "../state/store.ts";

/** What reverting a batch would do. */
export interface BatchPreview {
  /** Groups of repositories in which the same fields would change. */
  readonly parts: readonly { readonly repositories: readonly string[]; readonly changes: readonly FieldChange[] }[];
  readonly left: readonly LeftField[];
}

/** Previews the revert of a batch, given its entries, without doing it. Throws RequestError. */
export async function previewOf(
  client: Parameters<typeof previewUndo>[0],
  entries: readonly FoundHistoryEntry[],
  scopes: readonly ScopeEntry[],
): Promise<BatchPreview> {
  const { changes, left } = await previewUndo(client, entries);
  const shown = changes.map(({ repo, scope, field, before, after }) => {
    const schema = findField(scopes, scope, field) ?? unknownSchema;
    return { repo, change: { path: joinConfigPath(scope, field), schema, before, after } };
  });
  const byRepository = Map.groupBy(shown, ({ repo }) => repo);
  const changesOf = (some: typeof shown) => some.map(({ change }) => change);
  const parts = Map.groupBy(byRepository, ([, some]) => JSON.stringify(changesOf(some)));
  return {
    parts: Array.from(parts.values(), some => ({
      repositories: some.map(([repo]) => repo),
      changes: changesOf(some[0]?.[1] ?? []),
    })),
    left,
  };
}

/** What is left unchanged and why, in one line. */
export function describeLeft({ repo, field, message }: LeftField, state: Pick<ScreenState, "repositories">): string {
  const name = nameOfRepository(state, repo);
  return `${field === undefined ? name : `${name}, ${field}`}: ${message}`;
}
