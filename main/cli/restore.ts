import type { Command } from "commander";
import { addChangeOptions, type ChangeCommandOptions, changeArguments, reportChange } from "./change.ts";
import { parseRevision } from "./command-options.ts";
import { chooseRepository } from "./repositories.ts";
import { print } from "./terminal.ts";

/** `repoconf restore REVISION [FIELD...]`: the values of then, as a revision of now. */
export function addRestoreCommand(program: Command): void {
  addChangeOptions(program.command("restore"))
    .argument("<revision>", "the revision whose values are wanted back", parseRevision)
    .argument("[field...]", "only these, such as svc.timeout (default: every field that differs)")
    .summary("give a repository the values of an earlier revision")
    .description(
      "give a repository the values of an earlier revision\n\nThis is a new revision, so nothing of what was since is lost, and repoconf undo takes it back. An archive is brought back by repoconf backup --restore.",
    )
    .action(restore);
}

async function restore(to: number, fields: readonly string[], options: ChangeCommandOptions): Promise<void> {
  const { withSession } = await import("./session.ts");
  await withSession(options, async ({ client }) => {
    const { id } = await chooseRepository(client, options.repo);
    const wanted = fields.length === 0 ? {} : { fields };
    const reply = await client.request("history/restore", {
      reason: `restore of revision ${to}`,
      ...wanted,
      ...changeArguments(options),
      repo: id,
      to,
    });
    const [restored] = reply.result;
    const nothing = restored !== undefined && reply.errors.length === 0 && Object.keys(restored.config).length === 0;
    if (nothing && !options.json) {
      print(`Nothing to restore: every value is as it was at revision ${to}.`);
    }
    await reportChange(client, reply, options, "Restored");
  });
}
