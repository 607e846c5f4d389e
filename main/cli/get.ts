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

interface GetOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly withRevision?: boolean;
}

/** `repoconf get FIELD`: one value, for scripts. */
export function addGetCommand(program: Command): void {
  addJsonOption(addRepositoryOption(addSessionOptions(program.command("get"))))
    .argument("<field>", "such as svc.timeout")
    .summary("print one value: a text as it is, anything else as JSON")
    .description(
      "print one value: a text as it is, anything else as JSON\n\nA script that changes a value because of what it was reads it with --with-revision and sets it with --if-revision: then no change that came between is lost.",
    )
    .option("--with-revision", 'print the revision, a blank and the value; with --json {"revision": ..., "value": ...}')
    .action(get);
}

async function get(field: string, options: GetOptions): Promise<void> {
  const { withSession } = await import("./session.ts");
  const { chooseRepository } = await import("./repositories.ts");
  const { rawValue } = await import("./fields.ts");
  const { readConfig } = await import("./read-config.ts");
  const { printJson, printValue } = await import("./terminal.ts");
  await withSession(options, async ({ client }) => {
    const { id } = await chooseRepository(client, options.repo);
    const { config, revision } = await readConfig(client, { repo: id, field });
    for (const { value } of configEntries(config)) {
      if (options.json) printJson(options.withRevision ? { revision, value } : value);
      else printValue(options.withRevision ? `${revision} ${rawValue(value)}` : rawValue(value));
    }
  });
}
