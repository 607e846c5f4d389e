import { type RepoconfClient, RequestError } from "../../../shared/client/client.ts";
import { InexactNumberError, NestingError, parseExactJson } from "../../../shared/exact-number.ts";
import { describeProblem } from "../../../shared/health.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import type { Layer, RepositoryEntry } from "../../../shared/protocol.ts";
import { schemaAt, showPlace } from "../../../shared/typed-place.ts";
import { accepts } from "../../../shared/typed-value.ts";
import { isError, problemsOfText } from "../../check/check-text.ts";
import { describeJsonProblem } from "../../files/json-text-problems.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { listFields, readConfig, showValue, startOfLayer } from "../connect/fields.ts";
import { batchOfEnvironment, whereWritten } from "../output/changes.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { describeError } from "../output/messages.ts";
import type { EditedText } from "./edit-until-valid.ts";
import { readAt, readPlace } from "./value-place.ts";

/** A repository's whole file, or that of a layer. Throws RequestError. */
export async function editFile(
  client: RepoconfClient,
  { id, name }: RepositoryEntry,
  layer: Layer | undefined,
): Promise<EditedText> {
  const file = { repo: id, ...(layer && { layer }) };
  const { text } = await client.run("file/read", file);
  let expected = text;
  return {
    fileName: "repository.json",
    text: text ?? "{}\n",
    save: async edited => {
      const scopes = await scopesOf(client);
      const problems = problemsOfText(edited, scopes);
      if (problems.some(problem => isError(problem, scopes))) return { problems: problems.map(describeProblem) };
      const { errors } = await client.request("file/write", { ...file, text: edited, expected });
      const [first] = errors;
      if (first === undefined) return { done: `Saved the ${layer === "local" ? "local file" : "file"} of ${name}.` };
      if (first.code !== 1104) throw new RequestError(first, { result: null, errors });
      ({ text: expected } = await client.run("file/read", file));
      return { problems: ["The file was changed in the meantime."], now: expected ?? "" };
    },
  };
}

/** One value, or a place inside it, of what counts or of a layer: a string as plain text if the field accepts strings, anything else as JSON. Throws RequestError, or CommandError for an unknown field. */
export async function editValue(
  client: RepoconfClient,
  { id, health }: RepositoryEntry,
  typed: string,
  { reason, layer }: { readonly reason: string | undefined; readonly layer: Layer | undefined },
): Promise<EditedText> {
  const fields = await listFields(client);
  const place = readPlace(typed, fields);
  const schema = fields.get(place.field);
  const field = showPlace(place, schema);
  const at = schemaAt(schema, place.path);
  const read = async () => {
    const counted = await readConfig(client, { repo: id, field: place.field, ...(layer && { layers: true }) });
    const config = layer === undefined ? counted.config : startOfLayer(counted, layer, place.field, schema);
    return { value: readAt(config, place, typed, fields, health), revision: counted.revision };
  };
  let before = await read();
  // Null or a number in a text file would be saved as text, and half of a character as another one.
  const isPlain = (value: JsonValue) => typeof value === "string" && value.isWellFormed();
  const isText = accepts(at, "string") && isPlain(before.value);
  const show = (value: JsonValue) => (isText && typeof value === "string" ? value : JSON.stringify(value, null, 2));
  return {
    // Names inside a value may contain anything.
    fileName: `${place.field}.${isText ? "txt" : "json"}`,
    text: `${show(before.value)}\n`,
    save: async text => {
      const value = isText ? text.replace(/\r?\n$/, "") : parsed(text);
      if (value instanceof InexactNumberError) return { problems: [`This cannot be saved: ${value.message}.`] };
      if (value instanceof NestingError) return { problems: [`This cannot be saved: ${value.message}.`] };
      if (value instanceof Error) return { problems: [`This is not valid JSON: ${describeJsonProblem(text)}.`] };
      for (;;) {
        const { revision } = before;
        const why = { ...(reason !== undefined && { reason }), ...batchOfEnvironment() };
        const how = { flush: true, revision, ...why, ...(layer && { layer }) };
        const set = place.path === "" ? { [field]: value } : { edits: [{ ...place, op: "set", value } as const] };
        const { result, errors } = await client.request("config/set", { repo: id, ...set, ...how });
        const [first] = errors;
        if (first === undefined) return { done: `Set ${field}${whereWritten(result, place.field)}.` };
        if (first.code === 1103) return { problems: [describeError(new RequestError(first, { result: [], errors }))] };
        if (first.code !== 1104) throw new RequestError(first, { result: [], errors });
        const now = await read();
        const isOurs = sameJson(now.value, before.value);
        before = now;
        // Only other fields changed, so retry with the new revision.
        if (isOurs) continue;
        if (isText && !isPlain(now.value))
          throw new CommandError(
            `${field} was changed to ${showValue(now.value, schema, false)} in the meantime, which is no text. Edit it again.`,
            exitCodes.refused,
          );
        return { problems: [`${field} was changed in the meantime.`], now: `${show(now.value)}\n` };
      }
    },
  };
}

/** The daemon's scopes, to check a text as the daemon does. */
async function scopesOf(client: RepoconfClient): Promise<Scopes> {
  const { compileScope, Scopes: AllScopes } = await import("../../scopes/scopes.ts");
  const scopes = new AllScopes();
  for (const { scope, schema } of await client.run("scope/list", {}))
    if (scope !== "svc") scopes.set(compileScope(scope, schema));
  return scopes;
}

function parsed(text: string): JsonValue | Error {
  try {
    return parseExactJson(text);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
