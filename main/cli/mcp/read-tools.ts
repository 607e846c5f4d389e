import { configEntries, configValue } from "../../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { type ErrorEntry, RepoconfError } from "../../../shared/errors.ts";
import { itemNamesOf } from "../../../shared/item-names.ts";
import { type JsonObject, type JsonValue, sameJson } from "../../../shared/json.ts";
import type { HistoryEntry, ProposedValue } from "../../../shared/protocol.ts";
import { needsReveal } from "../../../shared/scopes/hidden-values.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import { maskValue } from "../../../shared/scopes/value-text.ts";
import { type Fields, mask } from "../connect/fields.ts";
import { printable, printableChange, withHidden } from "../output/masking.ts";
import { type Call, failure, pageOf } from "./call.ts";

const mostFound = 50;
const historyLength = 10;
/** Characters of JSON, above which a value or the limits of a field are left out where many are listed. */
const shownLength = 500;

/** Where a value comes from that is not the shared one. In a linked worktree, the main one's local values count, too. */
const placeOf = { local: "local values", base: "local values of the main work tree" } as const;

/** `config_find`: the fields whose path, title or description has all words of the query; those whose path has them come first. */
export async function find(call: Call, query: string): Promise<JsonObject> {
  const { client, repository } = call;
  const repo = repository.id;
  const [effective, stored] = await Promise.all([
    client.request("config/list", { repo, waits: true }),
    client.request("config/list", { repo, stored: true, layers: true }),
  ]);
  const [error] = [...effective.errors, ...stored.errors];
  if (error !== undefined) return failure(error);
  const { waits = [] } = effective;
  const words = query.toLowerCase().replaceAll("*", " ").split(/\s+/);
  const has = (text: string) => words.every(word => text.toLowerCase().includes(word));
  const known = withHidden(stored.result, stored.masked ?? []);
  const entries = [...configEntries(withHidden(effective.result, effective.masked ?? []))].map(
    ({ scope, field, value }) => {
      const path = joinConfigPath(scope, field);
      return {
        path,
        value,
        schema: call.fields.get(path),
        isStored: configValue(known, scope, field) !== undefined,
        layer: (["local", "base"] as const).find(name => {
          const own = configValue(stored.layers?.[name] ?? {}, scope, field);
          // It may not count, by x-layers for example. Lists whose items have names are merged, and what a worktree inherits may be higher.
          const { "x-step": step, ...schema } = call.fields.get(path) ?? {};
          const isDerived = itemNamesOf(schema) !== undefined || (name === "base" && step !== undefined);
          return own !== undefined && (isDerived || sameJson(own, value));
        }),
      };
    },
  );
  const byPath = entries.filter(({ path }) => has(path));
  const byText = entries.filter(
    ({ path, schema }) => !has(path) && has([path, schema?.title ?? "", schema?.description ?? ""].join(" ")),
  );
  const found = [...byPath, ...byText];
  const fields = found.slice(0, mostFound).map(({ path, value, schema, isStored, layer }) => ({
    path,
    ...describeField(schema),
    ...shown("value", printable(path, value, call.fields)),
    from: layer === undefined ? (isStored ? "this repository" : "default") : placeOf[layer],
    // A newer value is in the file, which a person has to trust first.
    ...(waits.includes(path) && { waitsForTrust: true }),
  }));
  const more = found.length - fields.length;
  return { ...about(call, effective.revision), fields, ...(more > 0 && { more }) };
}

/** `config_get`: values by path. */
export async function get(call: Call, paths: readonly string[], revision: number | undefined): Promise<JsonObject> {
  const { client, repository } = call;
  const at = revision === undefined ? {} : { revision };
  const reply = await client.request("config/list", { repo: repository.id, ...at });
  if (reply.errors.length > 0) return failure(...reply.errors);
  const config = withHidden(reply.result, reply.masked ?? []);
  const values: { [path: string]: JsonValue } = {};
  const errors: RepoconfError[] = [];
  for (const path of paths) {
    const split = splitConfigPath(path);
    const value = split && configValue(config, split.scope, split.field);
    if (value === undefined) errors.push(new RepoconfError(1011, `There is no field "${path}".`, { field: path }));
    else values[path] = printable(path, value, call.fields);
  }
  return { ...about(call, reply.revision), values, ...(errors.length > 0 && failure(...errors)) };
}

/** `config_history`: entries with their changes, by path; first, with what the key proposes itself. */
export async function history(call: Call, { field, limit, after }: JsonObject): Promise<JsonObject> {
  const proposals = typeof after === "number" ? [] : await ownProposals(call);
  const asked = proposals.filter(one => field === undefined || one.field === field);
  const reply = await call.client.request("history/list", {
    repo: call.repository.id,
    limit: typeof limit === "number" ? limit : historyLength,
    ...(typeof field === "string" && { field }),
    ...(typeof after === "number" && { after: String(after) }),
  });
  const entries = (reply.result ?? []).map(entry => describeEntry(printableChange(entry, call.fields)));
  const errors: readonly ErrorEntry[] = reply.errors;
  return {
    ...about(call, call.repository.revision),
    ...(asked.length > 0 && { proposals: asked.map(one => describeProposal(one, call.fields)) }),
    entries,
    ...(reply.next !== undefined && { next: Number(reply.next) }),
    ...(errors.length > 0 && failure(...errors)),
  };
}

/** What this key proposes in the repository, and nobody has accepted or declined. */
export function ownProposals({ client, repository }: Call): Promise<readonly ProposedValue[]> {
  return client.run("proposal/list", { repo: repository.id });
}

function describeProposal({ id, repo, field, layer, value, masked, time, reason }: ProposedValue, fields: Fields) {
  return {
    ...{ proposal: id, field, ...(layer && { layer }) },
    ...(value === undefined ? { unset: true } : shown("value", masked ? mask : printable(field, value, fields))),
    ...{ time, ...(reason !== undefined && { reason }), page: pageOf(repo, field) },
  };
}

/** What every result begins with. */
export function about({ repository }: Call, revision: number | undefined): JsonObject {
  return { repository: repository.name, ...(revision !== undefined && { revision }) };
}

function describeEntry(entry: HistoryEntry): JsonObject {
  const { revision, time, actor, source, reason, layer } = entry;
  const changes: { [path: string]: JsonObject } = {};
  for (const [scope, changed] of Object.entries(entry.changes))
    for (const [field, { value, previous, stored, forgotten }] of Object.entries(changed)) {
      const path = joinConfigPath(scope, field);
      changes[path] = {
        ...(forgotten ? { erased: true } : shown("from", previous)),
        ...shown("to", value),
        // Without a local value, the one of the layer below counts.
        ...(!stored && (layer === "local" || layer === "base" ? { noLocalValue: true } : { isDefault: true })),
      };
    }
  // The changes are those of the layer, whether its value counts or not.
  const about = { ...(layer !== undefined && { layer }), ...(reason !== undefined && { reason }) };
  return { revision, time, by: actor, source, ...about, changes };
}

/** What is no limit of its value, or is told as something else. */
const noLimits = new Set([
  "title",
  "description",
  "default",
  "type",
  "x-masked",
  "x-renamedFrom",
  "examples",
  "$comment",
]);

function describeField(schema: FieldSchema | undefined): JsonObject {
  if (schema === undefined) return {};
  const { title, description, type, default: unset, "x-masked": masked } = schema;
  // Schemas are JSON.
  const limits = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !noLimits.has(keyword))) as JsonObject;
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(type !== undefined && { type: type as JsonValue }),
    ...(Object.keys(limits).length > 0 && shown("limits", limits)),
    ...shown("default", needsReveal(schema) ? maskValue(unset, mask) : unset),
    ...(masked && { masked }),
  };
}

/** A member with the value, or where it is long, with its length instead. */
function shown(name: string, value: JsonValue): JsonObject {
  const { length } = JSON.stringify(value);
  return length <= shownLength ? { [name]: value } : { [`${name}Length`]: length };
}
