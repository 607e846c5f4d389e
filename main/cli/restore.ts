import type { Command } from "commander";
import { addChangeOptions, type ChangeCommandOptions, changeArguments, reportRestored } from "./change.ts";
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
    // It made no revision, and would make none.
    const nothing = restored?.revision === revision && reply.errors.length === 0;
    if (!options.json) {
      for (const field of forgotten)
        print(`Not restored: ${field}, whose value at revision ${to} was made to be forgotten.`);
    }
    if (!nothing || options.json) return reportRestored(client, reply, options, to);
    const all = forgotten.length === 0 ? "every value is" : "every other value is";
    const what = fields.length === 0 ? all : `${fields.join(", ")} ${fields.length === 1 ? "is" : "are"}`;
    print(`Nothing to restore: ${what} as ${fields.length > 1 ? "they were" : "it was"} at revision ${to}.`);
  });
}
