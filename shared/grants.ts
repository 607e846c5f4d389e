/** What an API key may do. Nothing is allowed by default, rights add up, and write includes read. */
export type Right = "read" | "write";

export interface Grant {
  /** `"*"` for every repository, or ids. */
  readonly repos: "*" | readonly string[];
  /** `"*"`, `"svc.*"`, `"svc.proxy_*"` or `"svc.timeout"`. A `*` is only valid at the end, after a complete scope name. */
  readonly fields: readonly string[];
  readonly right: Right;
}

export type Grants = readonly Grant[];

/**
 * What a key may do wherever its grants reach, beyond reading and writing. `reveal`: see masked values, secrets and references to secrets,
 * and change parts of them. `commands`: set what runs as a command or becomes an environment variable, instead of proposing it.
 */
export const keyRights = ["reveal", "commands"] as const;

export type KeyRight = (typeof keyRights)[number];

/** The form of a grant's field pattern, as a regular expression. */
export const fieldPatternForm = "^(\\*|[A-Za-z][A-Za-z0-9_.-]*\\*?)$";

/** The owner's grants: everything. */
export const ownerGrants: Grants = [{ repos: "*", fields: ["*"], right: "write" }];

function coversRepository(grant: Grant, repo: string): boolean {
  return grant.repos === "*" || grant.repos.includes(repo);
}

function coversRight(grant: Grant, right: Right): boolean {
  return right === "read" || grant.right === "write";
}

/** Whether a field pattern of a grant covers a field (`<scope>.<field>`). */
export function patternCovers(pattern: string, path: string): boolean {
  if (!pattern.endsWith("*")) return pattern === path;
  const start = pattern.slice(0, -1);
  return path.startsWith(isOpenScope(pattern) ? `${start}.` : start);
}

/**
 * Whether the pattern is of the form `svc*`, which would cover every scope that starts with it, including future ones; `svc.*` is
 * right. No key can be created with such a pattern.
 */
export function isOpenScope(pattern: string): boolean {
  return pattern.length > 1 && pattern.endsWith("*") && !pattern.includes(".");
}

/** Whether the grants give the right on one field (`<scope>.<field>`) of one repository. */
export function allows(grants: Grants, right: Right, repo: string, path: string): boolean {
  return grants.some(
    grant =>
      coversRight(grant, right) &&
      coversRepository(grant, repo) &&
      grant.fields.some(pattern => patternCovers(pattern, path)),
  );
}

/** Whether the grants give the right on every field of the repository, known or unknown, so that single fields need no check. */
export function allowsEveryField(grants: Grants, right: Right, repo: string): boolean {
  return grants.some(grant => coversRight(grant, right) && coversRepository(grant, repo) && grant.fields.includes("*"));
}

/** Whether the grants give the right on at least one of the fields of the repository. */
export function allowsAnyField(grants: Grants, right: Right, repo: string, paths: Iterable<string>): boolean {
  if (allowsEveryField(grants, right, repo)) return true;
  for (const path of paths) if (allows(grants, right, repo, path)) return true;
  return false;
}

/** Whether the grants give the right on the field in at least one repository. */
export function allowsSomewhere(grants: Grants, right: Right, path: string): boolean {
  return grants.some(
    grant =>
      coversRight(grant, right) &&
      (grant.repos === "*" || grant.repos.length > 0) &&
      grant.fields.some(pattern => patternCovers(pattern, path)),
  );
}

/** Whether the grants give the right on any possible field of the scope. */
export function allowsInScope(grants: Grants, right: Right, scope: string): boolean {
  const start = `${scope}.`;
  return grants.some(
    grant =>
      coversRight(grant, right) &&
      (grant.repos === "*" || grant.repos.length > 0) &&
      grant.fields.some(pattern => pattern.startsWith(start) || patternCovers(pattern, start)),
  );
}
