import { configValue, filterConfig } from "../../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { canonicalJson, type JsonValue } from "../../../shared/json.ts";
import type { MatrixField, MatrixRow } from "../../../shared/protocol.ts";
import { isMasked } from "../../../shared/query/match-query.ts";
import type { Query } from "../../../shared/query/parse-query.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { hashOfValue } from "../../store/values/trusted-values.ts";
import type { Turn } from "../../time/yielding.ts";
import type { Caller } from "../keys/caller.ts";
import type { ConfigService } from "./config-service.ts";
import { findRepositories, placesIn } from "./search.ts";

interface MatrixContext {
  readonly service: ConfigService;
  readonly scopes: Scopes;
  readonly turn: Turn;
}

/** How many different values are counted, of all fields together; further ones cannot be the most frequent. */
const maxCounted = 100_000;
/** The maximum length of a value's JSON in the result; for a longer one, the result names a repository that has it. */
const shownValue = 200;

/** How often each value of a field was seen. */
interface Tally {
  of: number;
  /** By the value's canonical JSON, or its hash. */
  readonly values: Map<string, { count: number; readonly like: string; readonly value?: JsonValue }>;
}

/** The ids of the repositories in which a query finds something. */
export async function* foundRepositories(...args: Parameters<typeof findRepositories>): AsyncGenerator<string> {
  for await (const { repo, isHit, fields } of findRepositories(...args)) if (isHit || fields.length > 0) yield repo;
}

/**
 * The matrix of a query: the repositories in which it finds something, by id, and the fields that it finds there, in the order of
 * the schemas, or all fields if it finds only repositories. Each field has the value that most of these repositories have.
 */
export async function readMatrix(
  caller: Caller,
  query: Query,
  context: MatrixContext,
): Promise<{ readonly repositories: readonly string[]; readonly fields: readonly MatrixField[] }> {
  const { service, scopes, turn } = context;
  const repositories: string[] = [];
  const found = new Set<string>();
  const tallies = new Map<string, Tally>();
  let counted = 0;
  for await (const { repo, isHit, fields } of findRepositories(caller, query, undefined, context)) {
    if (!isHit && fields.length === 0) continue;
    repositories.push(repo);
    for (const { scope, field } of fields) found.add(joinConfigPath(scope, field));
    // A repository whose file was never valid has no values.
    const shown = await service.list(caller, { repo }).catch(() => ({ config: {}, masked: [] }));
    for (const { scope, field, value, isHidden } of placesIn(shown)) {
      if (turn.isOver) await turn.pass();
      const path = joinConfigPath(scope, field);
      const tally = tallies.get(path) ?? { of: 0, values: new Map() };
      tallies.set(path, tally);
      tally.of += 1;
      if (isHidden || isMasked({ schema: scopes.field(scope, field)?.schema })) continue;
      const json = canonicalJson(value);
      const key = json.length > shownValue ? hashOfValue(value) : json;
      const known = tally.values.get(key);
      if (known !== undefined) known.count += 1;
      else if (counted < maxCounted) {
        counted += 1;
        tally.values.set(key, { count: 1, like: repo, ...(key === json && { value }) });
      }
    }
  }
  const paths = [...scopes.paths()].filter(path => found.size === 0 || found.has(path));
  return { repositories, fields: paths.flatMap(path => summarize(path, tallies.get(path)) ?? []) };
}

/** Undefined if the field is readable in none of the repositories. */
function summarize(field: string, tally: Tally | undefined): MatrixField | undefined {
  if (tally === undefined) return undefined;
  const { of, values } = tally;
  let most: typeof values extends Map<string, infer Value> ? Value | undefined : never;
  for (const one of values.values()) if (one.count > (most?.count ?? 0)) most = one;
  if (most === undefined) return { field, of };
  const { count, like, value } = most;
  return { field, of, count, ...(value === undefined ? { like } : { value }) };
}

/** The cells of one repository, without masked values. Throws RepoconfError 1102 or 1106. */
export async function readCells(
  caller: Caller,
  repo: string,
  fields: ReadonlySet<string>,
  { service, scopes }: Pick<MatrixContext, "service" | "scopes">,
): Promise<MatrixRow> {
  const shown = await service.list(caller, { repo });
  const stored = await service.list(caller, { repo, stored: true });
  const isAsked = (scope: string, field: string) => fields.has(joinConfigPath(scope, field));
  const isStored = (path: string) => {
    const { scope, field } = splitConfigPath(path) ?? { scope: "", field: "" };
    return stored.masked.includes(path) || configValue(stored.config, scope, field) !== undefined;
  };
  const isShown = (scope: string, field: string) =>
    isAsked(scope, field) && !isMasked({ schema: scopes.field(scope, field)?.schema });
  return {
    repo,
    revision: shown.revision,
    config: filterConfig(shown.config, isShown),
    stored: [...scopes.paths()].filter(path => fields.has(path) && isStored(path)),
  };
}
