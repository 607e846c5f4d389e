import type { Grant, Grants, KeyRight } from "../../shared/grants.ts";

/** The maximum of names in a sentence; the rest is counted. */
const maxNames = 3;

/** What a key may do, in a short sentence: "Read svc.timeout in shop and store". */
export function describeGrants(grants: Grants, nameOf: (repo: string) => string, most = maxNames): string {
  if (grants.length === 0) return "Nothing";
  const described = grants.slice(0, most).map(grant => describeGrant(grant, nameOf, most));
  return [...described, ...(grants.length > most ? [`and ${grants.length - most} more`] : [])].join("; ");
}

/** What a further right allows. */
export function describeRight(right: KeyRight): string {
  return right === "reveal"
    ? "See masked values and secrets"
    : "Set commands and environment variables without asking you";
}

function describeGrant({ repos, fields, right }: Grant, nameOf: (repo: string) => string, most: number): string {
  const what = fields.includes("*") ? "all fields" : listed(fields.map(describePattern), "fields", most);
  const where = repos === "*" ? "all repositories" : listed(repos.map(nameOf), "repositories", most);
  return `${right === "write" ? "Read and write" : "Read"} ${what} in ${where}`;
}

function describePattern(pattern: string): string {
  return pattern.endsWith(".*") ? `all of ${pattern.slice(0, -2)}` : pattern;
}

function listed(names: readonly string[], ofWhat: string, most: number): string {
  if (names.length === 0) return `no ${ofWhat}`;
  const rest = names.length - most;
  return new Intl.ListFormat("en").format([...names.slice(0, most), ...(rest > 0 ? [`${rest} more ${ofWhat}`] : [])]);
}
