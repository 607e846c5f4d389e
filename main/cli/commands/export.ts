import { writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { type Command, Option } from "commander";
import { configEntries, pathsIn } from "../../../shared/config.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import {
  addLayerOptions,
  addRepositoryOption,
  addSessionOptions,
  type LayerOptions,
  type RepositoryOptions,
  type SessionOptions,
} from "../command-options.ts";

interface ExportOptions extends SessionOptions, RepositoryOptions, LayerOptions {
  readonly allFields?: boolean;
  readonly format?: "json" | "env";
  readonly output?: string;
  readonly force?: boolean;
  readonly reveal?: boolean;
}

/** `repoconf export`: writes the values of a repository in a format that `import` reads. */
export function addExportCommand(program: Command): void {
  addLayerOptions(addRepositoryOption(addSessionOptions(program.command("export"))))
    .summary("write the stored values of a repository as JSON or as environment variables")
    .description(
      "write the stored values of a repository as JSON or as environment variables\n\nMasked values cannot be imported again, so the command refuses with exit code 3 if there are any, unless you pass --reveal.",
    )
    .addOption(
      new Option("--format <format>", "json or env (default: from the output file's name, else json)").choices([
        "json",
        "env",
      ]),
    )
    .option("--all-fields", "include fields that have their default value")
    .option("--output <file>", "write to this file, readable only by you, instead of standard output")
    .option("--force", "overwrite the file if it exists")
    .option("--reveal", "include masked values in clear text")
    .action(exportValues);
}

/** `.env`, `.env.local` and `shop.env` are env files. */
function formatOfOutput(file: string): "json" | "env" {
  return /^\.env(\..+)?$|\.env$/i.test(basename(file)) && !/\.json$/i.test(file) ? "env" : "json";
}

async function exportValues(options: ExportOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { chooseRepository } = await import("../connect/repositories.ts");
  const { listFields } = await import("../connect/fields.ts");
  const { refuseHidden, refuseMasked } = await import("../output/masking.ts");
  const { isTerminal, printNote, printValue } = await import("../output/terminal.ts");
  const { layerOf } = await import("../output/changes.ts");
  const { RequestError } = await import("../../../shared/client/request-error.ts");
  const { output, allFields = false, force = false } = options;
  const layer = layerOf(options);
  if (layer !== undefined && allFields) {
    const { CommandError, exitCodes } = await import("../output/exit-codes.ts");
    throw new CommandError("A layer has no defaults: use either --all-fields or --local, --shared.", exitCodes.usage);
  }
  const format = options.format ?? (output === undefined ? "json" : formatOfOutput(output));
  await withSession(options, async ({ client }) => {
    const { id, name } = await chooseRepository(client, options.repo);
    const request = { repo: id, ...(!allFields && { stored: true }), ...(layer !== undefined && { layers: true }) };
    const reply = await client.request("config/list", request);
    const [refused] = reply.errors;
    if (refused !== undefined) throw new RequestError(refused, reply);
    const config = layer === undefined ? reply.result : (reply.layers?.[layer] ?? {});
    refuseHidden(reply.masked ?? []);
    if (!options.reveal) refuseMasked(pathsIn(config), await listFields(client));
    const values = new Map(
      [...configEntries(config)].map(({ scope, field, value }) => [joinConfigPath(scope, field), value]),
    );
    const text = format === "json" ? `${JSON.stringify(config, null, 2)}\n` : await environmentText();
    if (output !== undefined) {
      const { makeOutputFile } = await import("../output/output-file.ts");
      await makeOutputFile(output, force, file => writeFile(file, text, { mode: 0o600, flag: "wx" }));
    } else if (text !== "") printValue(text);
    if (isTerminal() && (output !== undefined || values.size === 0)) {
      const count = `${values.size} ${values.size === 1 ? "field" : "fields"} of ${name}`;
      const hint = values.size === 0 ? " Nothing is stored; use --all-fields to export the defaults too." : "";
      printNote(`Exported ${count}${output === undefined ? "" : ` to ${output}`}.${hint}`);
    }

    async function environmentText(): Promise<string> {
      const { formatEnvironment } = await import("../environment/formats.ts");
      const { CommandError, exitCodes } = await import("../output/exit-codes.ts");
      const { text: lines, problems } = formatEnvironment(values, await listFields(client));
      if (problems.length === 0) return lines;
      const message = `${name} cannot be exported as env. Use --format json instead.`;
      throw new CommandError([message, ...problems].join("\n"), exitCodes.refused);
    }
  });
}
