import type { Command } from "commander";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import { describeProblem } from "../../../shared/health.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { Explanation, RepositoryEntry } from "../../../shared/protocol.ts";
import { showPlace, type ValuePlace } from "../../../shared/typed-place.ts";
import { valueAt } from "../../../shared/value-edit.ts";
import { findPlace, noValueAt, waitsForTrust, withPlace } from "../change/value-place.ts";
import {
  addJsonOption,
  addRepositoryOption,
  addSessionOptions,
  type OutputOptions,
  type RepositoryOptions,
  type SessionOptions,
} from "../command-options.ts";
import type { Fields } from "../connect/fields.ts";
import { printable } from "../output/masking.ts";
import { readHistory } from "./history.ts";

interface ExplainOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly reveal?: boolean;
}

/** `repoconf explain FIELD`: shows where a value comes from and who last changed it. */
export function addExplainCommand(program: Command): void {
  addJsonOption(addRepositoryOption(addSessionOptions(program.command("explain"))))
    .argument("<field>", "such as svc.timeout, or a place inside a value: svc.services.web.image")
    .description("show where a value comes from, and who last changed it, when, how and why")
    .option("--reveal", "show masked values")
    .action(explain);
}

async function explain(typed: string, options: ExplainOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { chooseRepository } = await import("../connect/repositories.ts");
  const { listFields, showValue, withSuggestion } = await import("../connect/fields.ts");
  const { describeAuthor } = await import("../change/describe-change.ts");
  const { print, printJson } = await import("../output/terminal.ts");
  await withSession(options, async ({ client }) => {
    const repository = await chooseRepository(client, options.repo);
    const known = await listFields(client);
    const place = findPlace(typed, known);
    const field = showPlace(place, known.get(place.field));
    const fields = withPlace(known, place);
    const explained = await client
      .run("config/explain", { repo: repository.id, field: place.field, inside: place.path })
      .catch(async error => {
        throw await withSuggestion(async () => known, error);
      });
    const explanation =
      place.path === "" ? explained : await explainPlace(client, repository, explained, { ...place, typed, fields });
    if (options.json) return printJson(options.reveal ? explanation : masked(explanation, field, fields));
    const schema = fields.get(field);
    const show = (value: Explanation["value"]) => showValue(value, schema, options.reveal === true);
    print(`${field} = ${show(explanation.value)}`);
    print(`  in          ${repository.name} (${repository.id}), revision ${repository.revision}`);
    print(`  comes from  ${describeOrigin(explanation, waitsForTrust(place.field, repository.health))}`);
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
  });
}

/** What is at a place, and who last changed it there. `default` is absent if it has no such place. Throws CommandError if nothing is there. */
async function explainPlace(
  client: RepoconfClient,
  { id: repo, health }: RepositoryEntry,
  { origin, file, line, column, ...explained }: Explanation,
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
  const where = { origin, file, line, column };
  // It is printed, where what is absent is left out.
  return { value, ...at("default"), ...at("stored"), ...where, ...changed } as Explanation;
}

function masked(explanation: Explanation, field: string, fields: Fields): Explanation {
  const show = (value: JsonValue) => printable(field, value, fields);
  const { value, default: byDefault, stored } = explanation;
  return {
    ...explanation,
    value: show(value),
    ...(byDefault !== undefined && { default: show(byDefault) }),
    ...(stored !== undefined && { stored: show(stored) }),
  };
}

function describeOrigin({ origin, file, line, column }: Explanation, waits: boolean): string {
  const place = file === undefined ? "the file" : line === undefined ? file : `${file}:${line}:${column ?? 1}`;
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
