import type { JsonValue } from "../../../../shared/json.ts";
import type { Scopes } from "../../../scopes/scopes.ts";
import { historyFrom } from "../../../store/history/repository-history.ts";
import type { Store } from "../../../store/store.ts";
import type { Turn } from "../../../time/yielding.ts";
import type { Caller } from "../../keys/caller.ts";
import { mayWriteIn, notWritable } from "../../rights/write-refusals.ts";
import type { ConfigChangeResult, ConfigChanges, RestoreRequest } from "../config-changes.ts";
import { UndoPlan } from "./plan-undo.ts";

/** The types of its arguments have been checked. */
export interface UndoRequest extends Omit<RestoreRequest, "to"> {
  readonly undo: readonly number[];
}

interface UndoContext {
  readonly changes: ConfigChanges;
  readonly store: Store;
  readonly scopes: Scopes;
  readonly turn: Turn;
}

/** How often an undo is decided again because the repository was changed in between. */
const maxTries = 3;

/**
 * Takes back what revisions changed, all at once: one revision for each layer. A field gets the value from before them if it still has
 * theirs; others, and changes of another file than the work tree has now, stay, and are errors. Throws RepoconfError 1102, 1106, 1108 or 1110.
 */
export async function undoRevisions(
  caller: Caller,
  { undo, fields, layer, ...options }: UndoRequest,
  { changes, store, scopes, turn }: UndoContext,
): Promise<ConfigChangeResult> {
  const { repo } = options;
  if (!mayWriteIn(caller, repo, store, scopes)) return { result: [], errors: [notWritable(repo)] };
  const wanted = { caller, revisions: new Set(undo), fields: fields && new Set(fields), layer };
  const oldest = Math.min(...undo);
  for (let tries = 1; ; tries += 1) {
    const repository = await store.repositories.load(repo);
    const state = await repository.read();
    const head = await repository.files.treeFolder?.readHead();
    const plan = new UndoPlan({ ...wanted, head }, state, scopes);
    for await (const record of historyFrom(repository, state.revision, turn)) {
      if (plan.isComplete || record.revision < oldest) break;
      if (record.kind === "change") plan.add(record);
    }
    const { restored, left } = plan;
    if (restored.length === 0 || (left.length > 0 && options.atomic)) return { result: [], errors: left };
    const ofLayer = (name: string) =>
      new Map<string, JsonValue | undefined>(
        restored.filter(one => one.layer === name).map(({ path, value }) => [path, value]),
      );
    const isAsked = options.revisions.size > 0;
    const { result, errors } = await changes.run(caller, {
      ...options,
      repos: [repo],
      // It was decided on these values.
      revisions: isAsked ? options.revisions : new Map([[repo, state.revision]]),
      values: ofLayer("shared"),
      layer: "shared",
      localValues: ofLayer("local"),
      source: "restore",
    });
    const isOutdated = errors.some(({ code, field }) => code === 1104 && field === undefined);
    if (!isOutdated || isAsked || tries === maxTries) return { result, errors: [...left, ...errors] };
  }
}
