import type { Command } from "commander";
import { describeProblem } from "../../../shared/health.ts";
import type { JsonValue } from "../../../shared/json.ts";
import type { Explanation } from "../../../shared/protocol.ts";
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

interface ExplainOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly reveal?: boolean;
}

/** `repoconf explain FIELD`: shows where a value comes from and who last changed it. */
export function addExplainCommand(program: Command): void {
  addJsonOption(addRepositoryOption(addSessionOptions(program.command("explain"))))
    .argument("<field>", "such as svc.timeout")
    .description("show where a value comes from, and who last changed it, when, how and why")
    .option("--reveal", "show masked values")
    .action(explain);
}

async function explain(field: string, options: ExplainOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { chooseRepository } = await import("../connect/repositories.ts");
  const { listFields, showValue, withSuggestion } = await import("../connect/fields.ts");
  const { describeAuthor } = await import("../change/describe-change.ts");
  const { print, printJson } = await import("../output/terminal.ts");
  await withSession(options, async ({ client }) => {
    const repository = await chooseRepository(client, options.repo);
    const explanation = await client.run("config/explain", { repo: repository.id, field }).catch(async error => {
      throw await withSuggestion(client, error);
    });
    const fields = await listFields(client);
    if (options.json) return printJson(options.reveal ? explanation : masked(explanation, field, fields));
    const schema = fields.get(field);
    const show = (value: Explanation["value"]) => showValue(value, schema, options.reveal === true);
    print(`${field} = ${show(explanation.value)}`);
    print(`  in          ${repository.name} (${repository.id}), revision ${repository.revision}`);
    print(`  comes from  ${describeOrigin(explanation)}`);
    print(`  default     ${show(explanation.default)}`);
    const { revision, time, actor, source, reason } = explanation;
    if (revision === undefined || time === undefined || actor === undefined || source === undefined) {
      print("  changed     never, as far back as the history goes");
    } else {
      print(`  changed     ${time}, revision ${revision}, ${describeAuthor({ revision, actor, source })}`);
    }
    if (reason !== undefined) print(`  reason      ${reason}`);
    for (const problem of repository.health) {
      if (problem.field === undefined || problem.field === field) print(`  problem     ${describeProblem(problem)}`);
    }
  });
}

function masked(explanation: Explanation, field: string, fields: Fields): Explanation {
  const show = (value: JsonValue) => printable(field, value, fields);
  const { value, default: byDefault, stored } = explanation;
  return {
    ...explanation,
    value: show(value),
    default: show(byDefault),
    ...(stored !== undefined && { stored: show(stored) }),
  };
}

function describeOrigin({ origin, file, line, column }: Explanation): string {
  const place = file === undefined ? "the file" : line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  switch (origin) {
    case "default":
      return line === undefined ? "the default" : `the default; the value in ${place} is invalid`;
    case "stored":
      return place;
    case "lastGood":
      return `the last valid value; the value in ${place} is invalid`;
  }
}
