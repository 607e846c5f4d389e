import type { Command } from "commander";
import { describeProblem } from "../../../shared/health.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { CountedLayer, Explanation, RepositoryEntry } from "../../../shared/protocol.ts";
import { showPlace, type ValuePlace } from "../../../shared/typed-place.ts";
import { valueAt } from "../../../shared/value-edit.ts";
import { describeAuthor } from "../change/describe-change.ts";
import { findPlace, noValueAt, waitsForTrust, withPlace } from "../change/value-place.ts";
import { addOptions, type OutputOptions, type RepositoryOptions, type SessionOptions } from "../command-options.ts";
import { type Fields, listFields, mask, showValue, withSuggestion } from "../connect/fields.ts";
import type { Requests } from "../connect/requests.ts";
import { explainRows } from "../options.ts";
import { printable, refuseHidden } from "../output/masking.ts";
import { print, printJson } from "../output/terminal.ts";
import { readHistory } from "./history.ts";

export interface ExplainOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly reveal?: boolean;
}

/** `repoconf explain FIELD`: shows where a value comes from and who last changed it. */
export function addExplainCommand(program: Command): void {
  addOptions(program.command("explain"), explainRows)
    .argument("<field>", "such as svc.timeout, or a place inside a value: svc.services.web.image")
    .description("show where a value comes from, and who last changed it, when, how and why")
    .action(explain);
}

async function explain(typed: string, options: ExplainOptions): Promise<void> {
  const { withRepository } = await import("../connect/repositories.ts");
  await withRepository(options, (client, repository) => printExplanation(client, repository, typed, options));
}

/** Throws RequestError, CommandError. */
export async function printExplanation(
  client: Requests,
  repository: RepositoryEntry,
  typed: string,
  options: ExplainOptions,
): Promise<void> {
  const known = await listFields(client);
  const place = findPlace(typed, known);
  const field = showPlace(place, known.get(place.field));
  const fields = withPlace(known, place);
  const explained = await client
    .run("config/explain", { repo: repository.id, field: place.field, inside: place.path })
    .catch(async error => {
      throw await withSuggestion(async () => known, error);
    });
  if (place.path !== "") refuseHidden(explained.masked ? [place.field] : []);
  const explanation =
    place.path === "" ? explained : await explainPlace(client, repository, explained, { ...place, typed, fields });
  if (options.json) return printJson(options.reveal ? explanation : masked(explanation, field, fields));
  const schema = fields.get(field);
  const show = (value: Explanation["value"]) =>
    explanation.masked ? mask : showValue(value, schema, options.reveal === true);
  print(`${field} = ${show(explanation.value)}`);
  print(`  in          ${repository.name} (${repository.id}), revision ${repository.revision}`);
  print(`  comes from  ${describeOrigin(explanation, waitsForTrust(place.field, repository.health))}`);
  if (explanation.step !== undefined)
    print(`  step        ${explanation.step} higher than that in this worktree, by the schema (x-step)`);
  for (const { layer, of, value, masked: isHidden, ...at } of (explanation.layers ?? []).slice(1)) {
    const shown = isHidden ? mask : showValue(value, schema, options.reveal === true);
    print(`  beneath     ${shown} (${nameOf(layer, of)}${at.file === undefined ? "" : `, ${placeIn(at)}`})`);
  }
  if (explanation.default !== undefined) print(`  default     ${show(explanation.default)}`);
  const { revision, time, actor, source, reason } = explanation;
  if (revision === undefined || time === undefined || actor === undefined || source === undefined) {
    print("  changed     never, as far back as the history goes");
  } else {
    print(`  changed     ${time}, revision ${revision}, ${describeAuthor({ revision, actor, source })}`);
  }
  if (reason !== undefined) print(`  reason      ${reason}`);
  for (const problem of repository.health) {
    if (problem.field === undefined || problem.field === place.field)
      print(`  problem     ${describeProblem(problem)}`);
  }
}

/** What is at a place, and who last changed it there. `default` is absent if it has no such place. Throws CommandError if nothing is there. */
async function explainPlace(
  client: Requests,
  { id: repo, health }: RepositoryEntry,
  { origin, file, line, column, layer, of, layers, ...explained }: Explanation,
  { fields, ...place }: ValuePlace & { readonly typed: string; readonly fields: Fields },
): Promise<Explanation> {
  const at = (name: "value" | "default" | "stored") => {
    const value = valueAt(explained[name], place.path, fields.get(place.field));
    return value === undefined ? {} : { [name]: value };
  };
  const { value } = at("value");
  if (value === undefined) throw noValueAt(place.typed, place.field, health);
  const { entries } = await readHistory(client, repo, { place, fields }, { limit: 1 });
  const [{ revision, time, actor, source, reason } = {}] = entries;
  const changed = { revision, time, actor, source, reason };
  const inside = layers?.flatMap(one => {
    const there = valueAt(one.value, place.path, fields.get(place.field));
    return there === undefined ? [] : [{ ...one, value: there }];
  });
  const where = {
    origin,
    file,
    line,
    column,
    ...(layer && { layer }),
    ...(of && { of }),
    ...(inside && { layers: inside }),
  };
  const found = { value, ...at("default"), ...at("stored"), ...where, ...changed };
  // It is printed, where what is absent is left out.
  return found as unknown as Explanation;
}

function masked(explanation: Explanation, field: string, fields: Fields): Explanation {
  const show = (value: JsonValue) => (explanation.masked ? mask : printable(field, value, fields));
  const { value, default: byDefault, stored, layers } = explanation;
  return {
    ...explanation,
    value: show(value),
    ...(byDefault !== undefined && { default: show(byDefault) }),
    ...(stored !== undefined && { stored: show(stored) }),
    ...(layers && {
      layers: layers.map(one => ({ ...one, value: one.masked ? mask : printable(field, one.value, fields) })),
    }),
  };
}

function placeIn({ file = "the file", line, column }: Pick<Explanation, "file" | "line" | "column">): string {
  return line === undefined ? file : `${file}:${line}:${column ?? 1}`;
}

function nameOf(layer: CountedLayer, of = ""): string {
  return layer === "base" ? `local of ${of}` : layer;
}

function describeOrigin({ origin, layer, of, ...at }: Explanation, waits: boolean): string {
  const { line } = at;
  const place = `${placeIn(at)}${layer === undefined ? "" : ` (${nameOf(layer, of)})`}`;
  const unused = `the value in ${place} ${waits ? "waits for trust (repoconf trust)" : "is invalid"}`;
  switch (origin) {
    case "default":
      return line === undefined ? "the default" : `the default; ${unused}`;
    case "stored":
      return place;
    case "lastGood":
      return `the last valid value; ${unused}`;
  }
}
