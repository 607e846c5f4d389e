import { undoEntries } from "../../../shared/client/undo-batch.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { type ErrorEntry, RepoconfError } from "../../../shared/errors.ts";
import type { JsonObject, JsonValue } from "../../../shared/json.ts";
import type { ChangedRepository, FoundHistoryEntry, Layer } from "../../../shared/protocol.ts";
import { mask } from "../connect/fields.ts";
import { printable } from "../output/masking.ts";
import { type Call, failure, requireOwnValues } from "./call.ts";
import { about, ownProposals } from "./read-tools.ts";

/** `config_set`: what was set, by path, and what was refused. */
export async function set(call: Call, args: JsonObject): Promise<JsonObject> {
  const { set: given = {}, unset = [], revision, reason, dryRun = false, atomic = true } = args;
  // What is tried in a linked worktree is of that worktree, and of no commit, unless the agent says otherwise.
  const layer = (args["layer"] as Layer | undefined) ?? (call.repository.base === undefined ? undefined : "local");
  const values = given as JsonObject;
  const paths = [...Object.keys(values), ...(unset as readonly string[])];
  if (paths.length === 0) return failure(new RepoconfError(1008, "Give values as set, or fields as unset."));
  // Without a dot, they would be options of the operation.
  const errors = paths
    .filter(path => splitConfigPath(path) === undefined)
    .map(path => new RepoconfError(1011, `There is no field "${path}".`, { field: path }));
  // What stands for a masked value is no value: an agent that sends back a list as it read it would destroy what is hidden in it.
  if (JSON.stringify(values).includes(mask))
    errors.push(new RepoconfError(1101, `${mask} stands for a value that you may not read, so it cannot be set.`));
  if (errors.length > 0) return failure(...errors);
  if (layer !== "shared") await requireOwnValues(call);
  const reply = await call.client.request("config/set", {
    ...values,
    unset: unset as readonly string[],
    repo: call.repository.id,
    ...(typeof revision === "number" && { revision }),
    reason: reason as string,
    dryRun: dryRun as boolean,
    atomic: atomic as boolean,
    ...(layer && { layer }),
  });
  const result = changed(call, reply.result, reply.errors, dryRun === true);
  const notSet = paths.filter(path => !Object.hasOwn(result["values"] as JsonObject, path));
  return { ...result, ...(notSet.length > 0 && { notSet }) };
}

/** `config_undo`: takes back what one revision changed, if this key made it, or a proposal of this key. */
export async function undo(call: Call, args: JsonObject): Promise<JsonObject> {
  const { revision: given, proposal, reason, dryRun = false } = args;
  if ((given === undefined) === (proposal === undefined))
    return failure(new RepoconfError(1101, "Give either a revision or a proposal."));
  if (proposal !== undefined) return withdraw(call, proposal as string, dryRun === true);
  const revision = given as number;
  const entries = await ownChange(call, revision);
  const { restored, left } = await undoEntries(call.client, entries, {
    reason: reason as string,
    batch: `undo of revision ${revision} at ${Date.now()}`,
    dryRun: dryRun as boolean,
  });
  return changed(
    call,
    restored,
    left.map(({ error }) => error),
    dryRun === true,
  );
}

async function withdraw(call: Call, id: string, dryRun: boolean): Promise<JsonObject> {
  const own = (await ownProposals(call)).find(one => one.id === id);
  if (own === undefined)
    return failure(
      new RepoconfError(1112, `There is no proposal ${JSON.stringify(id)} of yours: perhaps a person has decided.`),
    );
  if (!dryRun) await call.client.run("proposal/remove", { id });
  return { ...about(call, undefined), withdrawn: id, field: own.field, ...(dryRun && { dryRun }) };
}

/**
 * A revision, with the one that the same change made of another layer. Throws RequestError; RepoconfError 1112 if this key has made no such
 * change.
 */
async function ownChange({ client, repository }: Call, revision: number): Promise<readonly FoundHistoryEntry[]> {
  // Erasures stand there under the revision that was the newest.
  const listed = await client.run("history/list", { repo: repository.id, after: String(revision + 2), limit: 50 });
  const changes = (listed ?? []).filter(({ source }) => source !== "forget");
  const entry = changes.find(one => one.revision === revision);
  // The daemon tells no key the names of others, and lets none be called like this.
  if (entry?.actor === "this key")
    return changes
      .filter(one => one === entry || one.revision === entry.together)
      .map(one => ({ ...one, repo: repository.id }));
  throw new RepoconfError(1112, `Revision ${revision} is no change of yours, so it was not undone.`);
}

function changed(
  call: Call,
  repositories: readonly ChangedRepository[],
  errors: readonly ErrorEntry[],
  dryRun: boolean,
): JsonObject {
  const [own] = repositories;
  const values: { [path: string]: JsonValue } = {};
  const local: string[] = [];
  const notCounting: string[] = [];
  const localItems: { [path: string]: readonly string[] } = {};
  for (const [scope, fields] of Object.entries(own?.config ?? {}))
    for (const [field, { value, masked, layer, shadowedBy, localItems: items }] of Object.entries(fields)) {
      const path = joinConfigPath(scope, field);
      values[path] = masked ? mask : printable(path, value, call.fields);
      if (layer === "local") local.push(path);
      if (shadowedBy !== undefined) notCounting.push(path);
      if (items !== undefined) localItems[path] = items;
    }
  return {
    ...about(call, own?.revision),
    values,
    ...(local.length > 0 && { local }),
    // A local value comes before these.
    ...(notCounting.length > 0 && { notCounting }),
    // Of lists that are merged by the names of their items.
    ...(Object.keys(localItems).length > 0 && { localItems }),
    ...(dryRun && { dryRun }),
    ...(errors.length > 0 && failure(...errors)),
  };
}
