import type { Command } from "commander";
import { configEntries } from "../../shared/config.ts";
import {
  addJsonOption,
  addRepositoryOption,
  addSessionOptions,
  type OutputOptions,
  type RepositoryOptions,
  type SessionOptions,
} from "./command-options.ts";

type GetOptions = SessionOptions & OutputOptions & RepositoryOptions;

/** `repoconf get FIELD`: one value, for scripts. */
export function addGetCommand(program: Command): void {
  addJsonOption(addRepositoryOption(addSessionOptions(program.command("get"))))
    .argument("<field>", "such as svc.timeout")
    .description("print one value: a text as it is, anything else as JSON")
    .action(get);
}

async function get(field: string, options: GetOptions): Promise<void> {
  const { withSession } = await import("./session.ts");
  const { chooseRepository } = await import("./repositories.ts");
  const { rawValue, withSuggestion } = await import("./fields.ts");
  const { print, printJson } = await import("./terminal.ts");
  await withSession(options, async ({ client }) => {
    const { id } = await chooseRepository(client, options.repo);
    const config = await client.run("config/list", { repo: id, field }).catch(async error => {
      throw await withSuggestion(client, error);
    });
    for (const { value } of configEntries(config)) {
      if (options.json) printJson(value);
      else print(rawValue(value));
    }
  });
}
