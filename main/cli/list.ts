import type { Command } from "commander";
import { configEntries, configValue } from "../../shared/config.ts";
import { joinConfigPath } from "../../shared/config-path.ts";
import {
  addJsonOption,
  addRepositoryOption,
  addSessionOptions,
  type OutputOptions,
  type RepositoryOptions,
  type SessionOptions,
} from "./command-options.ts";

interface ListOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly stored?: boolean;
  readonly reveal?: boolean;
}

/** `repoconf list [field|scope]`: effective values, those that are stored marked. */
export function addListCommand(program: Command): void {
  addJsonOption(addRepositoryOption(addSessionOptions(program.command("list"))))
    .argument("[field|scope]", "only this field (svc.timeout) or scope (svc)")
    .description("show the values of a repository")
    .option("--stored", "only what is stored, without the defaults")
    .option("--reveal", "show masked values")
    .action(list);
}

async function list(wanted: string | undefined, options: ListOptions): Promise<void> {
  const { withSession } = await import("./session.ts");
  const { chooseRepository } = await import("./repositories.ts");
  const { listFields, showValue, withSuggestion } = await import("./fields.ts");
  const { isTerminal, print, printJson, printTable, style } = await import("./terminal.ts");
  await withSession(options, async ({ client }) => {
    const repository = await chooseRepository(client, options.repo);
    const part = wanted === undefined ? {} : wanted.includes(".") ? { field: wanted } : { scope: wanted };
    const repo = repository.id;
    const config = await client
      .run("config/list", { repo, ...part, ...(options.stored && { stored: true }) })
      .catch(async error => {
        throw await withSuggestion(client, error);
      });
    if (options.json) return printJson(config);
    const [fields, stored] = await Promise.all([listFields(client), client.run("config/list", { repo, stored: true })]);
    const rows = [...configEntries(config)].map(({ scope, field, value }) => {
      const path = joinConfigPath(scope, field);
      const isStored = configValue(stored, scope, field) !== undefined;
      return [path, showValue(value, fields.get(path), options.reveal === true), isStored ? "stored" : "default"];
    });
    if (isTerminal()) print(style("dim", `${repository.name} (${repo}), revision ${repository.revision}`));
    printTable(["FIELD", "VALUE", "FROM"], rows);
  });
}
