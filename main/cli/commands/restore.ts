import type { Command } from "commander";
import type { ChangeCommandOptions } from "../change/change.ts";
import { addChangeOptions, parseRevision } from "../command-options.ts";

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
  const { restoreRevision } = await import("../change/restore-revision.ts");
  const request = { to, fields, reason: `restore of revision ${to}`, asks: false };
  await withSession(options, ({ client }) => restoreRevision(client, request, options));
}
