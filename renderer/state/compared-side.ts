/**
 * One of two compared sides: a repository's current values with unsaved edits, its values at a revision, the values in its file,
 * or the defaults.
 */
export type ComparedSide =
  | { readonly kind: "now"; readonly repo: string }
  | { readonly kind: "file"; readonly repo: string }
  | { readonly kind: "revision"; readonly repo: string; readonly revision: number }
  | { readonly kind: "defaults" };

/** No repository id contains a colon or an @. */
const defaults = ":default";
const form = /^([A-Za-z0-9][\w-]*)(?:@([1-9]\d{0,14})|(:file))?$/;

/** Parses a part of an address: `shop`, `shop@12` (revision 12), `shop:file`, `:default`; undefined if invalid. */
export function sideAt(text: string): ComparedSide | undefined {
  if (text === defaults) return { kind: "defaults" };
  const [, repo, revision, file] = form.exec(text) ?? [];
  if (repo === undefined) return undefined;
  if (revision !== undefined) return { kind: "revision", repo, revision: Number(revision) };
  return { kind: file === undefined ? "now" : "file", repo };
}

/** The text that `sideAt` parses into this side. */
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
