import { applyConfigEdits, type Config, configEntries, configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { allows } from "../../../shared/grants.ts";
import type { ConfigChanged, FieldChange, HistoryEntry } from "../../../shared/protocol.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import type { Actor, HistoryRecord, RecordedChange } from "../../store/types.ts";
import type { Caller } from "../keys/caller.ts";
import { isHidden, mayReveal } from "../rights/reveal.ts";

/**
 * A change of one field (`path`) or of all fields, as the caller may see it; undefined if it changes nothing that the caller may
 * read. Its reason may mention every changed field, so only a caller who may read all of them gets it.
 */
export function viewChange(
  caller: Caller,
  repo: string,
  change: RecordedChange,
  scopes: Pick<Scopes, "field" | "defaults">,
  path?: string,
): ConfigChanged | undefined {
  const { revision, time, actor, source, reason, batch, machine, together } = change;
  const changes: { [scope: string]: { [field: string]: FieldChange } } = {};
  let visible = false;
  // Nothing is hidden from a key in its own reasons.
  const isOwn = isOwnChange(caller, change.actor);
  const touched = [...change.changes, ...(change.ofLayer?.changes ?? [])];
  const whole = touched.every(({ scope, field, before, after }) => {
    const hides = isHidden(caller, scopes.field(scope, field)?.schema, before, after);
    return allows(caller.grants, "read", repo, joinConfigPath(scope, field)) && (isOwn || !hides);
  });
  // A value that stayed the same is listed last, which would tell that it did.
  const byPath = (one: ConfigPath, other: ConfigPath) =>
    joinConfigPath(one.scope, one.field) < joinConfigPath(other.scope, other.field) ? -1 : 1;
  const listed = mayReveal(caller) ? change.changes : change.changes.toSorted(byPath);
  for (const { scope, field, before, after, forgotten } of listed) {
    const changed = joinConfigPath(scope, field);
    if (!allows(caller.grants, "read", repo, changed) || (path ?? changed) !== changed) continue;
    // Null may be a stored value.
    const unstored = forgotten ? null : (configValue(scopes.defaults, scope, field) ?? null);
    let fields = changes[scope];
    if (fields === undefined) {
      fields = {};
      changes[scope] = fields;
    }
    const [value, previous] = [after === undefined ? unstored : after, before === undefined ? unstored : before];
    // What counts beneath a layer may be hidden, too.
    const hides = isHidden(caller, scopes.field(scope, field)?.schema, before, after, value, previous);
    const values = hides ? ({ value: null, previous: null, masked: true } as const) : { value, previous };
    fields[field] = { ...values, stored: after !== undefined, ...(forgotten && { forgotten }) };
    visible = true;
  }
  if (!visible) return undefined;
  const who = actorName(caller, actor);
  // Only the owner and the key that made the batch may know that it exists.
  const ofBatch = (caller.owner || isOwn) && batch !== undefined ? { batch } : {};
  return {
    repo,
    revision,
    time,
    actor: who,
    ...keyOf(caller, actor),
    source,
    ...(whole && reason !== undefined && { reason }),
    ...ofBatch,
    ...(caller.owner && machine !== undefined && { machine }),
    ...(together !== undefined && { together }),
    changes,
  };
}

/** A record of the history as the caller may see it, of one field or of all; undefined if the caller may read nothing in it. */
export function viewRecord(
  caller: Caller,
  repo: string,
  record: HistoryRecord,
  path: string | undefined,
  scopes: Pick<Scopes, "field" | "defaults">,
): HistoryEntry | undefined {
  if (record.kind === "forget") {
    const { revision, time, actor, scope, field: name } = record;
    const field = joinConfigPath(scope, name);
    if (!allows(caller.grants, "read", repo, field) || (path ?? field) !== field) return undefined;
    return { revision, time, actor: actorName(caller, actor), source: "forget", field, changes: {} };
  }
  // The history of a repository without values begins with a revision that changed nothing.
  if ((record.ofLayer ?? record).changes.length === 0 && path === undefined)
    return {
      revision: record.revision,
      time: record.time,
      actor: actorName(caller, record.actor),
      source: record.source,
      ...(caller.owner && record.machine !== undefined && { machine: record.machine }),
      changes: {},
    };
  const { ofLayer } = record;
  // An entry has the changes of its layer, with what counted where the layer had nothing.
  const own = ofLayer === undefined ? record : { ...record, changes: ofLayer.changes };
  const beneath = ofLayer === undefined ? scopes.defaults : withValues(scopes.defaults, ofLayer.beneath);
  const field = (scope: string, name: string) => scopes.field(scope, name);
  const seen = viewChange(caller, repo, own, { field, defaults: beneath }, path);
  if (seen === undefined) return undefined;
  const { repo: _, ...entry } = seen;
  return { ...entry, ...(ofLayer && { layer: ofLayer.layer }) };
}

function withValues(defaults: Config, values: Config): Config {
  return applyConfigEdits(defaults, [...configEntries(values)]);
}

/** The id of the named key that the actor is, for the owner: another key may have its name later. */
function keyOf(caller: Caller, actor: Actor): { readonly key?: string } {
  return caller.owner && actor.kind === "key" && actor.id !== "owner" ? { key: actor.id } : {};
}

/** Whether the caller's own key, or the owner for a session, made a change. */
export function isOwnChange(caller: Caller, actor: Actor): boolean {
  return actor.kind === "key" && actor.id === caller.actor.id;
}

/** The name of the actor, as far as the caller may know it. */
export function actorName(caller: Caller, actor: Actor): string {
  if (actor.kind === "file") return "file";
  if (caller.owner) return actor.name;
  // Only the owner may know which of their windows it was.
  if (actor.id === "owner") return "owner";
  return actor.id === caller.actor.id ? "this key" : "another key";
}
