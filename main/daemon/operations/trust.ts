import { configValue } from "../../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import type { UntrustedValue } from "../../../shared/protocol.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { Store } from "../../store/store.ts";
import type { Yielding } from "../../time/yielding.ts";
import { previewInAll } from "../config/scope-preview.ts";
import type { Worktrees } from "../folders/worktrees.ts";
import type { Operations } from "../socket/dispatch.ts";
import { noField } from "./config.ts";
import { existing, requireOwner } from "./repo.ts";

/** `trust/*`: values in a work tree's file that run as commands and wait for the owner to trust them; what a scope would make of values. */
export function trustOperations(
  store: Store,
  scopes: Scopes,
  yielding: Yielding,
  worktrees: Worktrees,
): Pick<Operations, "trust/list" | "trust/accept" | "trust/preview"> {
  const valuesOf = async (repo: string): Promise<UntrustedValue[]> =>
    (await store.repositories.require(repo).waiting()).map(({ scope, field, value, effect, hash, serving }) => ({
      repo,
      field: joinConfigPath(scope, field),
      value,
      effect,
      hash,
      serving: serving === undefined ? (configValue(scopes.defaults, scope, field) ?? null) : serving,
    }));
  return {
    "trust/list": async ({ repo }, { caller }) => {
      requireOwner(caller);
      if (repo) return { result: await valuesOf(existing(store, repo)) };
      const isWaiting = (id: string) => store.repositories.summary(id)?.health.some(({ code }) => code === 1114);
      const ids = (await store.ids()).filter(isWaiting);
      // A repository that is removed meanwhile has no waiting values.
      const values = await Promise.all(ids.map(id => valuesOf(id).catch(ignoreRemoved)));
      return { result: values.flat() };
    },

    "trust/accept": async ({ repo, field, hash }, { caller }) => {
      requireOwner(caller);
      const id = existing(store, repo);
      if (!field) throw noField("Pass the <scope>.<field> of the value to trust as field.");
      const path = splitConfigPath(field);
      if (path === undefined || scopes.field(path.scope, path.field) === undefined)
        throw new RepoconfError(1011, `There is no field "${field}". To list all fields: scope/list.`, {
          field,
        });
      const repository = await store.repositories.load(id);
      const revision = await repository.accept(path, hash);
      for (const other of worktrees.alike(id))
        await store.repositories
          .load(other)
          .then(one => one.accept(path, hash))
          .catch(ignoreOther);
      return { result: { revision } };
    },

    "trust/preview": async ({ scope: name, text }, { caller }) => {
      requireOwner(caller);
      return { result: await previewInAll(store, scopes, { name, text, turn: yielding.begin(caller.keyId) }) };
    },
  };
}

function ignoreRemoved(error: unknown): UntrustedValue[] {
  if (error instanceof RepoconfError && error.code === 1102) return [];
  throw error;
}

/** In another work tree the same value need not wait, and its file may be broken: then it is asked for there. */
function ignoreOther(error: unknown): void {
  if (!(error instanceof RepoconfError)) throw error;
}
