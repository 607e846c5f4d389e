/**
 * One of two that are compared: what a repository has now, with what is edited; what it had at a revision; what its file says; the
 * defaults.
 */
export type ComparedSide =
  | { readonly kind: "now"; readonly repo: string }
  | { readonly kind: "file"; readonly repo: string }
  | { readonly kind: "revision"; readonly repo: string; readonly revision: number }
  | { readonly kind: "defaults" };

/** No repository's id has a colon or an @ in it. */
const defaults = ":default";
const form = /^([A-Za-z0-9][\w-]*)(?:@([1-9]\d{0,14})|(:file))?$/;

/** The side of a part of an address: `shop`, `shop@12` (revision 12), `shop:file`, `:default`; undefined: it is none. */
export function sideAt(text: string): ComparedSide | undefined {
  if (text === defaults) return { kind: "defaults" };
  const [, repo, revision, file] = form.exec(text) ?? [];
  if (repo === undefined) return undefined;
  if (revision !== undefined) return { kind: "revision", repo, revision: Number(revision) };
  return { kind: file === undefined ? "now" : "file", repo };
}

/** What `sideAt` takes it from. */
export function textOfSide(side: ComparedSide): string {
  switch (side.kind) {
    case "defaults":
      return defaults;
    case "now":
      return side.repo;
    case "file":
      return `${side.repo}:file`;
    case "revision":
      return `${side.repo}@${side.revision}`;
  }
}
