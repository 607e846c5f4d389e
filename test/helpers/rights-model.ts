import { type Config, countConfigFields, filterConfig } from "../../shared/config.ts";
import type { Grants, Right } from "../../shared/grants.ts";
import type {
  ConfigChanged,
  Explanation,
  HealthProblem,
  HistoryEntry,
  RepositoryEntry,
} from "../../shared/protocol.ts";

/*
 * What a key may see, implemented a second time from the pages "key/* and grants" and "config/watch and events" of
 * docs/protocol.md, in a different way from the product: each function reduces the owner's reply.
 */

/** Rights add up, write includes read, a star matches any ending. */
export function may(grants: Grants, right: Right, repo: string, field: string): boolean {
  for (const { repos, fields: given, right: allowed } of grants) {
    if (right === "write" && allowed === "read") continue;
    if (typeof repos !== "string" && repos.indexOf(repo) < 0) continue;
    for (const pattern of given) {
      const [start = "", ...rest] = pattern.split("*");
      if (rest.length > 0 ? field.indexOf(start) === 0 : field === pattern) return true;
    }
  }
  return false;
}

/** Whether the key may read the field in any repository, existing or not. */
export function maySomewhere(grants: Grants, field: string): boolean {
  return grants.some(grant => grant.repos.length > 0 && may([{ ...grant, repos: "*" }], "read", "any", field));
}

/** Whether the key may read every possible field of the repository. */
export function mayReadAll(grants: Grants, repo: string): boolean {
  return may(grants, "read", repo, "\u0000");
}

export function configSeen(grants: Grants, repo: string, config: Config): Config {
  return filterConfig(config, (scope, field) => may(grants, "read", repo, `${scope}.${field}`));
}

/** The part of a history's entry, or of an event, that a key of this name sees; undefined if none. */
export function entrySeen<Entry extends HistoryEntry | ConfigChanged>(
  grants: Grants,
  name: string,
  repo: string,
  entry: Entry,
): Entry | undefined {
  // Only the owner sees ids of keys, and only the key that made the changes that they belong to a batch.
  const { batch, key: _, ...unbatched } = entry;
  const own = batch !== undefined && entry.actor === name ? { batch } : {};
  const seen = { ...unbatched, ...own, actor: actorSeen(name, entry.actor) } as Entry;
  if (entry.source === "forget") return may(grants, "read", repo, entry.field ?? "") ? seen : undefined;
  // The first entry of a repository without values hides nothing.
  if (Object.keys(entry.changes).length === 0) return seen;
  const changes = Object.entries(entry.changes).flatMap(([scope, fields]) => {
    const left = Object.entries(fields).filter(([field]) => may(grants, "read", repo, `${scope}.${field}`));
    return left.length === 0 ? [] : [[scope, Object.fromEntries(left)] as const];
  });
  if (changes.length === 0) return undefined;
  const count = (scopes: readonly (readonly [string, object])[]) =>
    scopes.reduce((sum, [, fields]) => sum + Object.keys(fields).length, 0);
  // A reason is only visible to a key that sees all changes it applies to.
  const { reason, ...rest } = seen;
  const whole = count(changes) === count(Object.entries(entry.changes));
  return { ...(whole ? seen : rest), changes: Object.fromEntries(changes) } as Entry;
}

/** Without the place in the home, which only the owner sees. */
export function explanationSeen(name: string, { file, line, column, ...rest }: Explanation): Explanation {
  return { ...rest, ...(rest.actor !== undefined && { actor: actorSeen(name, rest.actor) }) };
}

function actorSeen(name: string, actor: string): string {
  if (actor === "file" || actor === "owner") return actor;
  return actor === name ? "this key" : "another key";
}

/** The visible part of a repository's entry; `stored` has all stored values. */
export function repositorySeen(grants: Grants, entry: RepositoryEntry, stored: Config): RepositoryEntry {
  const health = entry.health.flatMap(problem => problemSeen(grants, entry.id, problem) ?? []);
  return { ...entry, modified: countConfigFields(configSeen(grants, entry.id, stored)), health };
}

function problemSeen(grants: Grants, repo: string, whole: HealthProblem): HealthProblem | undefined {
  if (mayReadAll(grants, repo)) return whole;
  // Places tell how long other values are.
  const { line: _, column: __, ...problem } = whole;
  const { field, code } = problem;
  if (field !== undefined) {
    // A scope's problem only has the scope's name.
    return may(grants, "read", repo, field.includes(".") ? field : `${field}.*`) ? problem : undefined;
  }
  if (code === 1011 || code === 1103) return undefined;
  if (code !== 1106) return problem;
  return { code, message: "The repository's file is invalid." };
}
