import type { Command } from "commander";
import { RequestError } from "../../shared/client/client.ts";
import { addJsonOption, addRepositoryOption, addSessionOptions } from "./command-options.ts";
import { withSuggestion } from "./fields.ts";
import { chooseRepository } from "./repositories.ts";
import { addChangeOptions, type ChangeCommandOptions, changeArguments, printChange } from "./set.ts";

/** `repoconf unset FIELD...`: takes stored values away, so that the defaults hold. */
export function addUnsetCommand(program: Command): void {
  addChangeOptions(addJsonOption(addRepositoryOption(addSessionOptions(program.command("unset")))))
    .argument("<field...>", "such as svc.timeout")
    .description("take stored values away, so that the defaults hold")
    .action(unset);
}

async function unset(names: readonly string[], options: ChangeCommandOptions): Promise<void> {
  const { withSession } = await import("./session.ts");
  await withSession(options, async ({ client }) => {
    const { id } = await chooseRepository(client, options.repo);
    const reply = await client.request("config/unset", { repo: id, fields: names, ...changeArguments(options) });
    await printChange(client, reply.result, options, "Unset; now");
    const [first] = reply.errors;
    if (first !== undefined) throw await withSuggestion(client, new RequestError(first, reply));
  });
}
