import { type Config, configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { allows } from "../../../shared/grants.ts";
import type { BrokenReference, Scopes } from "../../scopes/scopes.ts";
import type { LayerEdit } from "../../store/types.ts";
import type { LayerValues } from "../../store/values/counted-values.ts";
import type { Caller } from "../keys/caller.ts";
import { hidesAny, isHidden, mayReveal } from "./reveal.ts";
import { describeReference, tiedField } from "./write-refusals.ts";

/** Who changes a repository, and the errors found so far. */
export interface RuleContext {
  readonly caller: Caller;
  readonly scopes: Scopes;
  readonly repo: string;
  readonly errors: RepoconfError[];
}

/** The error of an edit of a field that a rule ties to one which the caller may not see: whether it is refused would tell a guess. */
export function tiedToHidden(
  { caller, scopes, repo }: RuleContext,
  layers: readonly LayerValues[],
  { scope, field }: ConfigPath,
): RepoconfError | undefined {
  if (mayReveal(caller)) return undefined;
  const hidden = scopes.tiedTo(scope, field).find(other => hidesAny(caller, scopes, layers, other));
  if (hidden === undefined) return undefined;
  const other = joinConfigPath(hidden.scope, hidden.field);
  return tiedField(joinConfigPath(scope, field), repo, allows(caller.grants, "read", repo, other) ? other : undefined);
}

/** Leaves out the edits that would make a field refer to a missing key; the rules apply to the result as a whole. */
export function checkReferences(
  { caller, scopes, repo, errors }: RuleContext,
  stored: Config,
  edits: readonly LayerEdit[],
): readonly LayerEdit[] {
  let accepted = edits;
  for (;;) {
    const found = findCulprit(scopes, stored, accepted);
    if (found === undefined) return accepted;
    const { culprit, broken } = found;
    const message = describeReference(broken, culprit, path => {
      const split = splitConfigPath(path);
      const schema = split && scopes.field(split.scope, split.field)?.schema;
      return allows(caller.grants, "read", repo, path) && !isHidden(caller, schema, broken.value);
    });
    errors.push(
      new RepoconfError(1103, message, {
        repo,
        field: joinConfigPath(culprit.scope, culprit.field),
        details: { path: "", rule: "x-keyOf", given: "string" },
      }),
    );
    accepted = accepted.filter(edit => edit !== culprit);
  }
}

/** A broken reference and the edit that breaks it: the values before the edits kept the rule. */
function findCulprit(
  scopes: Scopes,
  stored: Config,
  edits: readonly LayerEdit[],
): { culprit: LayerEdit; broken: BrokenReference } | undefined {
  const edited = new Map(edits.map(edit => [joinConfigPath(edit.scope, edit.field), edit]));
  const storedAt = (scope: string, field: string) => {
    const edit = edited.get(joinConfigPath(scope, field));
    const isRevealed = edit?.value === undefined && edit?.layer === "local";
    return edit === undefined || isRevealed ? configValue(stored, scope, field) : edit.value;
  };
  for (const broken of scopes.brokenReferences(storedAt)) {
    const { scope, field, target } = broken;
    const culprit =
      edits.find(edit => edit.scope === scope && edit.field === field) ??
      edits.find(edit => edit.scope === scope && edit.field === target);
    if (culprit !== undefined) return { culprit, broken };
  }
  return undefined;
}
