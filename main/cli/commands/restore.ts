import type { Command } from "commander";
import { addChangeOptions, type ChangeCommandOptions, changeArguments, reportRestored } from "../change/change.ts";
import { parseRevision } from "../command-options.ts";
import { chooseRepository } from "../connect/repositories.ts";
import { print } from "../output/terminal.ts";

/** `repoconf restore REVISION [FIELD...]`: restores earlier values in a new revision. */
export function addRestoreCommand(program: Command): void {
  addChangeOptions(program.command("restore"))
    .argument("<revision>", "the revision to restore", parseRevision)
    .argument("[field...]", "only these fields, such as svc.timeout (default: every field that differs)")
    .summary("restore the values of an earlier revision")
    .description(
      "restore the values of an earlier revision\n\nThis makes a new revision, so nothing in between is lost, and repoconf undo reverts it. To restore a backup archive, use repoconf backup --restore.",
    )
    .action(restore);
}

async function restore(to: number, fields: readonly string[], options: ChangeCommandOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  await withSession(options, async ({ client }) => {
    const { id, revision } = await chooseRepository(client, options.repo);
    const wanted = fields.length === 0 ? {} : { fields };
    const reply = await client.request("history/restore", {
      reason: `restore of revision ${to}`,
      ...wanted,
      ...changeArguments(options),
      repo: id,
      to,
    });
    const [restored] = reply.result;
    const { forgotten = [] } = restored ?? {};
    // No new revision, not even with --dry-run.
    const nothing = restored?.revision === revision && reply.errors.length === 0;
    if (!options.json) {
      for (const field of forgotten) print(`Not restored: ${field}, because its value at revision ${to} was erased.`);
    }
    if (!nothing || options.json) return reportRestored(client, reply, options, to);
    const all = forgotten.length === 0 ? "every value is" : "every other value is";
    const what = fields.length === 0 ? all : `${fields.join(", ")} ${fields.length === 1 ? "is" : "are"}`;
    print(`Nothing to restore: ${what} already as ${fields.length > 1 ? "they were" : "it was"} at revision ${to}.`);
  });
}
