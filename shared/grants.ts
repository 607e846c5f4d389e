/** What an API key may do. Nothing is allowed by default, rights add up, and write includes read. */
export type Right = "read" | "write";

export interface Grant {
  /** `"*"` for every repository, else ids. */
  readonly repos: "*" | readonly string[];
  /** `"*"`, `"svc.*"`, `"svc.proxy_*"` or `"svc.timeout"`: a `*` stands only at the end, and behind a scope's whole name. */
  readonly fields: readonly string[];
  readonly right: Right;
}

export type Grants = readonly Grant[];

/** What a grant's fields look like, as the text of a regular expression. */
export const fieldPatternForm = "^(\\*|[A-Za-z][A-Za-z0-9_.-]*\\*?)$";

/** The owner's: everything. */
export const ownerGrants: Grants = [{ repos: "*", fields: ["*"], right: "write" }];

function coversRepository(grant: Grant, repo: string): boolean {
  return grant.repos === "*" || grant.repos.includes(repo);
}

function coversRight(grant: Grant, right: Right): boolean {
  return right === "read" || grant.right === "write";
}

function patternCovers(pattern: string, path: string): boolean {
  if (!pattern.endsWith("*")) return pattern === path;
  const start = pattern.slice(0, -1);
  return path.startsWith(isOpenScope(pattern) ? `${start}.` : start);
}

/** `svc*`: not every scope whose name begins so, of which more may come, but `svc.*`. Keys of before may bear it; none is made. */
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

/** Whether the grants give the right on every field of the repository, known or not: then no field needs a check of its own. */
export function allowsEveryField(grants: Grants, right: Right, repo: string): boolean {
  return grants.some(grant => coversRight(grant, right) && coversRepository(grant, repo) && grant.fields.includes("*"));
}

/** Whether the grants give the right on any of the fields of the repository. */
export function allowsAnyField(grants: Grants, right: Right, repo: string, paths: Iterable<string>): boolean {
  if (allowsEveryField(grants, right, repo)) return true;
  for (const path of paths) if (allows(grants, right, repo, path)) return true;
  return false;
}

/** Whether the grants give the right on the field in any repository at all. */
export function allowsSomewhere(grants: Grants, right: Right, path: string): boolean {
  return grants.some(
    grant =>
      coversRight(grant, right) &&
      (grant.repos === "*" || grant.repos.length > 0) &&
      grant.fields.some(pattern => patternCovers(pattern, path)),
  );
}

/** Whether the grants give the right on any field that the scope may have. */
export function allowsInScope(grants: Grants, right: Right, scope: string): boolean {
  const start = `${scope}.`;
  return grants.some(
    grant =>
      coversRight(grant, right) &&
      (grant.repos === "*" || grant.repos.length > 0) &&
      grant.fields.some(pattern => pattern.startsWith(start) || patternCovers(pattern, start)),
  );
}
