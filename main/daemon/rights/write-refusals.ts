import type { ConfigEdit } from "../../../shared/config.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError, toRepoconfError } from "../../../shared/errors.ts";
import { allowsAnyField } from "../../../shared/grants.ts";
import type { Layer } from "../../../shared/protocol.ts";
import { describeEffect } from "../../../shared/scopes/describe-effect.ts";
import { effectOf, type FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import type { BrokenReference, Scopes } from "../../scopes/scopes.ts";
import type { Store } from "../../store/store.ts";
import type { LayerEdit, RepositoryState } from "../../store/types.ts";
import type { Caller } from "../keys/caller.ts";
import { visibleError } from "./reveal.ts";

/** Whether the key may write anything in a repository; false, too, if there is none. */
export function mayWriteIn(
  { grants }: Caller,
  repo: string,
  { repositories }: Pick<Store, "repositories">,
  scopes: Pick<Scopes, "paths">,
): boolean {
  return repositories.has(repo) && allowsAnyField(grants, "write", repo, scopes.paths());
}

/** The key may only propose this value of a field: the error without the proposal's id, which a proposal that is kept adds. */
export class OnlyProposedError extends RepoconfError {
  readonly edit: LayerEdit;

  readonly #what: string;

  constructor(repo: string, field: string, edit: LayerEdit, schema: FieldSchema) {
    const what = `${field} ${describeEffect(effectOf(schema), field)}`;
    super(1007, `${what}, which this key may only propose.`, { repo, field, details: { right: "commands" } });
    this.#what = what;
    this.edit = edit;
  }

  /** As the key gets it. */
  proposedAs(proposal: string): RepoconfError {
    const { repo = "", field = "" } = this;
    const message = `${this.#what}, so it is not set: it waits for a person, as the proposal ${proposal}. To review it: repoconf trust`;
    return new RepoconfError(1007, message, { repo, field, details: { right: "commands", proposal } });
  }
}

/** The key may not see the value of which it would change a part. */
export function onlyWhole(field: string, repo: string): RepoconfError {
  const message = `This key may not see the value of ${field}, so it cannot change a part of it. Set the whole value.`;
  return new RepoconfError(1105, message, { repo, field, details: { right: "reveal" } });
}

/** A rule ties the field to `other`, which the key may not see; undefined: nor know of. */
export function tiedField(field: string, repo: string, other: string | undefined): RepoconfError {
  const message = `This key may not see the value of ${other ?? "another field"}, to which a rule ties ${field}, so it cannot change ${field}. Ask the owner to.`;
  return new RepoconfError(1105, message, { repo, field, details: { right: "reveal" } });
}

/** The field is none that the key may write. */
export function noSuchField(field: string, repo?: string, hint = " To list all fields: scope/list."): RepoconfError {
  const message = `There is no field "${field}" that this key may write.${hint}`;
  return new RepoconfError(1007, message, { ...(repo !== undefined && { repo }), field });
}

/** Where a value comes from; `edits`: from the one before. */
export type ValueSource = "set" | "unset" | "restore" | "edits";

/** A key that may not read both fields of a rule only learns that there is a rule. */
export function describeReference(
  broken: BrokenReference,
  culprit: ConfigEdit,
  canRead: (path: string) => boolean,
): string {
  const [path, target] = [joinConfigPath(broken.scope, broken.field), joinConfigPath(broken.scope, broken.target)];
  if (!canRead(path) || !canRead(target)) {
    return `${joinConfigPath(culprit.scope, culprit.field)} would break a rule that ties it to another field.`;
  }
  return culprit.field === broken.field
    ? `${path} must be empty or a key of ${target}, and ${broken.shown} is not a key of it.`
    : `${path} refers to ${broken.shown}, which this change removes from ${target}. Set ${path} in the same request.`;
}

/**
 * The error of a value that comes from an older one than the file has, so that nobody would notice that the file's is replaced. Undefined
 * if the file's is active, or is meant to be replaced.
 */
export function unusedValue(
  { id: repo, health }: RepositoryState,
  path: string,
  ofLayer: Layer,
  source: ValueSource,
): RepoconfError | undefined {
  const found = health.find(
    ({ code, field, layer = "shared" }) => field === path && layer === ofLayer && (code === 1114 || code === 1103),
  );
  const isDerived = source === "edits" || (source === "restore" && found?.code === 1114);
  if (found === undefined || !isDerived) return undefined;
  const why =
    found.code === 1114
      ? "waits for trust. Review it first (trust/list)"
      : "is invalid, so the last valid one is active. Correct it first";
  const message = `This would replace the file's value of ${path}, which ${why}, or set the whole value.`;
  return new RepoconfError(found.code, message, { repo, field: path });
}

export function notInLayer(field: string, repo: string, layer: Layer): RepoconfError {
  const how = layer === "local" ? "without --local" : "with --local";
  const message = `By its schema (x-layers), ${field} has no ${layer} value. Set it ${how} (layer).`;
  return new RepoconfError(1101, message, { repo, field });
}

export function untrustedValue(field: string, repo: string): RepoconfError {
  const message = `Nobody has trusted the value that ${field} had at that revision in this repository. Review it, and set it if you trust it.`;
  return new RepoconfError(1114, message, { repo, field });
}

/** Also if it exists, and the key may not write it. */
export function notWritable(repo: string): RepoconfError {
  return new RepoconfError(1007, `There is no repository "${repo}" that this key may write.`, { repo });
}

export function forgottenValue(field: string, repo: string, revision: number): RepoconfError {
  const message = `The value that ${field} had at revision ${revision} was erased from the history.`;
  return new RepoconfError(1110, message, { repo, field });
}

/** Reports a repository that was removed between the check and the change as missing (1007). */
export function asRequestError(caller: Caller, error: unknown, repo: string | undefined): RepoconfError {
  const known = visibleError(caller, toRepoconfError(error));
  if (known.code === 1102 && known.repo !== undefined) return notWritable(known.repo);
  return repo === undefined || known.repo !== undefined ? known : known.inRepository(repo);
}
