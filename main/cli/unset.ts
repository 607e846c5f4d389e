import type { Command } from "commander";
import { addChangeOptions, type ChangeCommandOptions, changeArguments, reportChange } from "./change.ts";
import { chooseRepository } from "./repositories.ts";

/** `repoconf unset FIELD...`: takes stored values away, so that the defaults hold. */
export function addUnsetCommand(program: Command): void {
  addChangeOptions(program.command("unset"))
    .argument("<field...>", "such as svc.timeout")
    .description("take stored values away, so that the defaults hold")
    .action(unset);
}

async function unset(names: readonly string[], options: ChangeCommandOptions): Promise<void> {
  const { withSession } = await import("./session.ts");
  await withSession(options, async ({ client }) => {
    const { id } = await chooseRepository(client, options.repo);
    const reply = await client.request("config/unset", { repo: id, fields: names, ...changeArguments(options) });
    await reportChange(client, reply, options, "Unset; now");
  });
}
