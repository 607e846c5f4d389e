import { configEntries, configValue } from "../../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { problemsIn } from "../../../shared/health.ts";
import type { JsonValue } from "../../../shared/json.ts";
import {
  asksForChange,
  asksForWorktrees,
  isMasked,
  matchChange,
  matchField,
  matchRepository,
  seeksFields,
} from "../../../shared/query/match-query.ts";
import type { Query } from "../../../shared/query/parse-query.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { Turn } from "../../time/yielding.ts";
import type { Caller } from "../keys/caller.ts";
import type { Shown } from "../rights/reveal.ts";
import type { ConfigService } from "./config-service.ts";

/** A repository that was checked, and what was found there. */
export interface FoundRepository {
  readonly repo: string;
  /** Whether the query finds the repository itself. */
  readonly isHit: boolean;
  readonly fields: readonly FoundField[];
  /** Whether its history was checked. */
  readonly hasHistory: boolean;
}

interface FoundField {
  readonly scope: string;
  readonly field: string;
  /** The effective value. */
  readonly value: JsonValue;
  readonly isMasked: boolean;
}

/**
 * What a query finds among everything that the caller may read, in the order of the repositories' ids, including repositories in
 * which nothing is found. Masked values are not searched. Reads the values of repositories that are not open, and histories if
 * the query asks for last changes.
 */
export async function* findRepositories(
  caller: Caller,
  query: Query,
  after: string | undefined,
  { service, scopes, turn }: { readonly service: ConfigService; readonly scopes: Scopes; readonly turn: Turn },
): AsyncGenerator<FoundRepository> {
  const isOfFields = seeksFields(query);
  const isOfChanges = asksForChange(query);
  const hasWorktrees = asksForWorktrees(query);
  const onlyStored = query.some(({ kind, isNot }) => kind === "modified" && !isNot);
  const needsStored = !onlyStored && query.some(({ kind }) => kind === "modified");
  for await (const entry of service.repositories(caller, { after }, turn)) {
    const { id: repo, health, modified, base } = entry;
    if (base !== undefined && !hasWorktrees) continue;
    const match = matchRepository(query, {
      ...entry,
      isBroken: problemsIn(health).length > 0,
      isModified: modified > 0,
    });
    if (match === undefined) continue;
    const fields: FoundField[] = [];
    // A repository whose file was never valid has no values.
    const read = (stored: boolean) => service.list(caller, { repo, stored }).catch(() => ({ config: {}, masked: [] }));
    const stored: Shown = needsStored ? await read(true) : { config: {}, masked: [] };
    let lastChange: Awaited<ReturnType<ConfigService["lastChanges"]>> | undefined;
    for (const place of isOfFields ? placesIn(await read(onlyStored)) : []) {
      if (turn.isOver) await turn.pass();
      const { scope, field, isHidden } = place;
      const path = joinConfigPath(scope, field);
      const isStored =
        onlyStored || configValue(stored.config, scope, field) !== undefined || stored.masked.includes(path);
      const schema = scopes.field(scope, field)?.schema;
      const candidate = { ...place, isStored, schema: isHidden ? asMasked(schema) : schema };
      if (!matchField(query, match, candidate)) continue;
      if (isOfChanges) {
        lastChange ??= await service.lastChanges(caller, repo, turn).catch(nothingIfMissing);
        if (!matchChange(query, lastChange(path))) continue;
      }
      fields.push({ scope, field, value: place.value, isMasked: isMasked(candidate) });
    }
    yield { repo, isHit: match.isHit, fields, hasHistory: lastChange !== undefined };
  }
}

/** The fields that a caller may read; null stands for a value that it may not see. */
export function* placesIn({ config, masked }: Shown): Generator<Omit<FoundField, "isMasked"> & { isHidden: boolean }> {
  for (const place of configEntries(config)) yield { ...place, isHidden: false };
  for (const path of masked) {
    const split = splitConfigPath(path);
    if (split !== undefined) yield { ...split, value: null, isHidden: true };
  }
}

/** Every part of a masked value is masked, so a query finds nothing inside it. */
export function asMasked(schema: FieldSchema | undefined): FieldSchema | undefined {
  return schema && { ...schema, "x-masked": true };
}

/** For a repository that was removed during the search. */
function nothingIfMissing(error: unknown): () => undefined {
  if (error instanceof RepoconfError && error.code === 1102) return () => undefined;
  throw error;
}
