import { configEntries, configValue } from "../../../shared/config.ts";
import { joinConfigPath, splitConfigPath } from "../../../shared/config-path.ts";
import { type ErrorEntry, RepoconfError } from "../../../shared/errors.ts";
import type { JsonObject, JsonValue } from "../../../shared/json.ts";
import type { HistoryEntry } from "../../../shared/protocol.ts";
import type { FieldSchema } from "../../../shared/scopes/scope-schema.ts";
import { printable, printableChange, withHidden } from "../output/masking.ts";
import { type Call, failure } from "./call.ts";

const mostFound = 50;
const historyLength = 10;
/** Characters of JSON, above which a value or the limits of a field are left out where many are listed. */
const shownLength = 500;

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
        isLocal: (["local", "base"] as const).some(
          layer => configValue(stored.layers?.[layer] ?? {}, scope, field) !== undefined,
        ),
      };
    },
  );
  const byPath = entries.filter(({ path }) => has(path));
  const byText = entries.filter(
    ({ path, schema }) => !has(path) && has([path, schema?.title ?? "", schema?.description ?? ""].join(" ")),
  );
  const found = [...byPath, ...byText];
  const fields = found.slice(0, mostFound).map(({ path, value, schema, isStored, isLocal }) => ({
    path,
    ...describeField(schema),
    ...shown("value", printable(path, value, call.fields)),
    from: isLocal ? "local values" : isStored ? "this repository" : "default",
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

/** `config_history`: entries with their changes, by path. */
export async function history(call: Call, { field, limit, after }: JsonObject): Promise<JsonObject> {
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
    entries,
    ...(reply.next !== undefined && { next: Number(reply.next) }),
    ...(errors.length > 0 && failure(...errors)),
  };
}

/** What every result begins with. */
export function about({ repository }: Call, revision: number | undefined): JsonObject {
  return { repository: repository.name, ...(revision !== undefined && { revision }) };
}

function describeEntry(entry: HistoryEntry): JsonObject {
  const { revision, time, actor, source, reason } = entry;
  const changes: { [path: string]: JsonObject } = {};
  for (const [scope, changed] of Object.entries(entry.changes))
    for (const [field, { value, previous, stored, forgotten }] of Object.entries(changed)) {
      const path = joinConfigPath(scope, field);
      changes[path] = {
        ...(forgotten ? { erased: true } : shown("from", previous)),
        ...shown("to", value),
        ...(!stored && { isDefault: true }),
      };
    }
  return { revision, time, by: actor, source, ...(reason !== undefined && { reason }), changes };
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
    ...shown("default", unset),
    ...(masked && { masked }),
  };
}

/** A member with the value, or where it is long, with its length instead. */
function shown(name: string, value: JsonValue): JsonObject {
  const { length } = JSON.stringify(value);
  return length <= shownLength ? { [name]: value } : { [`${name}Length`]: length };
}
