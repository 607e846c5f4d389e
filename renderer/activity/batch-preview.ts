import type { RepoconfClient } from "../../shared/client/client.ts";
import type { UndoneBatch } from "../../shared/client/undo-batch.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../shared/json.ts";
import type { FieldChange } from "../diff/diff-lines.ts";
import { unknownSchema } from "../page/show-json.ts";
import { findField, nameOfRepository, type ScopeEntry, type ScreenState } from "../state/store.ts";

type LeftField = UndoneBatch["left"][number];

/** What reverting a batch would do. */
export interface BatchPreview {
  /** Groups of repositories in which the same fields would change. */
  readonly parts: readonly { readonly repositories: readonly string[]; readonly changes: readonly FieldChange[] }[];
  readonly left: readonly LeftField[];
}

interface TakenBack extends FieldChange {
  readonly repo: string;
  after: JsonValue;
}

/** Previews the revert of a batch without doing it. Throws RequestError. */
export async function previewOf(
  client: Pick<RepoconfClient, "batch" | "undoBatch">,
  batch: string,
  since: string | undefined,
  scopes: readonly ScopeEntry[],
): Promise<BatchPreview> {
  const options = since === undefined ? {} : { since };
  const { restored, left } = await client.undoBatch(batch, { ...options, dryRun: true });
  const taken = new Set(
    restored.flatMap(({ repo, config }) =>
      Object.entries(config).flatMap(([scope, fields]) => Object.keys(fields).map(field => keyOf(repo, scope, field))),
    ),
  );
  const changes = new Map<string, TakenBack>();
  for await (const { repo, changes: changed } of client.batch(batch, since))
    for (const [scope, fields] of Object.entries(changed))
      for (const [field, { value, previous, stored }] of Object.entries(fields)) {
        const key = keyOf(repo, scope, field);
        const newer = changes.get(key);
        // If the batch changed a field twice, both changes are reverted.
        if (newer !== undefined && sameJson(newer.after, value)) newer.after = previous;
        if (newer !== undefined || !taken.has(key)) continue;
        const schema = findField(scopes, scope, field) ?? unknownSchema;
        const path = joinConfigPath(scope, field);
        changes.set(key, { repo, path, schema, before: stored ? value : undefined, after: previous });
      }
  const byRepository = Map.groupBy(changes.values(), ({ repo }) => repo);
  const parts = Map.groupBy(byRepository, ([, some]) => JSON.stringify(some.map(({ repo: _, ...change }) => change)));
  return {
    parts: Array.from(parts.values(), some => ({
      repositories: some.map(([repo]) => repo),
      changes: some[0]?.[1] ?? [],
    })),
    left: left.filter(({ repo, field }) => !taken.has(`${repo} ${field}`)),
  };
}

function keyOf(repo: string, scope: string, field: string): string {
  return `${repo} ${joinConfigPath(scope, field)}`;
}

/** What is left unchanged and why, in one line. */
export function describeLeft({ repo, field, message }: LeftField, state: Pick<ScreenState, "repositories">): string {
  const name = nameOfRepository(state, repo);
  return `${field === undefined ? name : `${name}, ${field}`}: ${message}`;
}
