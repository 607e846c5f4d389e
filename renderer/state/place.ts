import { joinConfigPath, splitConfigPath } from "../../shared/config-path.ts";
import { type ComparedSide, sideAt, textOfSide } from "./compared-side.ts";

/** The views of a repository with their titles, in the order of their links. */
export const views = [
  ["fields", "Fields"],
  ["history", "History"],
  ["json", "JSON"],
] as const;

export type View = (typeof views)[number][0];

/** A repository, and optionally a scope or a field in it. */
export interface Selection {
  readonly repo: string;
  readonly scope?: string;
  readonly field?: string;
}

/** What the main part of the screen shows. It is derived only from the window's hash. */
export type Place =
  | { readonly page: "start" }
  | ({ readonly page: "repo"; readonly view: View } & Selection)
  | { readonly page: "matrix" | "activity"; readonly query: string }
  | { readonly page: "compare"; readonly left?: ComparedSide | undefined; readonly right?: ComparedSide | undefined }
  | { readonly page: "keys" | "new-key" | "sessions" }
  /** An invalid address. */
  | { readonly page: "unknown"; readonly address: string };

/**
 * Parses an address: `#/`, `#/repo/ID`, `#/repo/ID/svc.timeout`, `#/repo/ID/svc.*` (a scope), `#/repo/ID/history`,
 * `#/repo/ID/history?field=svc.timeout`, `#/repo/ID/json`, `#/matrix?q=...`, `#/activity?q=...`, `#/compare/A/B` (see `sideAt`),
 * `#/keys`, `#/keys/new`, `#/sessions`.
 */
export function placeAt(address: string): Place {
  const unknown = { page: "unknown", address } as const;
  const { path, query } = splitAddress(address);
  const [page = "", repo, part, ...more] = path;
  if (page === "" && path.length === 1) return { page: "start" };
  if ((page === "matrix" || page === "activity") && path.length === 1) return { page, query: query.get("q") ?? "" };
  if (page === "compare" && path.length <= 3) return compareAt(repo, part) ?? unknown;
  if (page === "sessions" && path.length === 1) return { page };
  if (page === "keys" && path.length === 1) return { page };
  if (page === "keys" && path.length === 2 && repo === "new") return { page: "new-key" };
  if (page !== "repo" || !repo || more.length > 0) return unknown;
  if (part === undefined) return { page, view: "fields", repo };
  if (part === "json") return { page, view: "json", repo };
  const view = part === "history" ? "history" : "fields";
  const selected = view === "history" ? query.get("field") : part;
  if (selected === null) return { page, view, repo };
  const { scope, field } = splitConfigPath(selected) ?? {};
  if (scope === undefined || field === undefined) return unknown;
  return { page, view, repo, scope, ...(field !== "*" && { field }) };
}

/** The address of a place, which `placeAt` parses. */
export function addressOf(place: Place): string {
  switch (place.page) {
    case "start":
      return "#/";
    case "unknown":
      return place.address;
    case "matrix":
    case "activity":
      return `#/${place.page}${place.query === "" ? "" : `?q=${encodeURIComponent(place.query)}`}`;
    case "compare": {
      const sides = [place.left, place.right].map(side => (side === undefined ? "" : `/${textOfSide(side)}`));
      return `#/compare${sides[0] === "" && sides[1] !== "" ? "/" : sides[0]}${sides[1]}`;
    }
    case "keys":
      return "#/keys";
    case "new-key":
      return "#/keys/new";
    case "sessions":
      return "#/sessions";
    case "repo": {
      const { view, repo, scope, field } = place;
      const base = `#/repo/${encodeURIComponent(repo)}`;
      if (view === "json") return `${base}/json`;
      const selected = scope === undefined ? undefined : joinConfigPath(scope, field ?? "*");
      if (view === "history") return `${base}/history${selected === undefined ? "" : `?field=${selected}`}`;
      return selected === undefined ? base : `${base}/${selected}`;
    }
  }
}

/** Places with the same key are one page in different states. */
export function pageKeyOf(place: Place): string {
  return place.page === "repo" ? `repo ${place.repo}` : place.page;
}

/** Undefined if a side is invalid. An empty side is still to be chosen. */
function compareAt(left = "", right = ""): Place | undefined {
  const [one, other] = [left, right].map(text => (text === "" ? undefined : (sideAt(text) ?? "none")));
  if (one === "none" || other === "none") return undefined;
  return { page: "compare", left: one, right: other };
}

function splitAddress(address: string): { readonly path: readonly string[]; readonly query: URLSearchParams } {
  const [path = "", query = ""] = address.replace(/^#?\/?/, "").split("?", 2);
  return { path: path.split("/").map(decoded), query: new URLSearchParams(query) };
}

/** Decodes a part of a path; returns it unchanged if it is encoded wrongly. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
