import type { Command } from "commander";
import {
  addRepositoryOption,
  addSessionOptions,
  type RepositoryOptions,
  type SessionOptions,
} from "./command-options.ts";

interface EditOptions extends SessionOptions, RepositoryOptions {
  readonly reason?: string;
}

/** `repoconf edit [FIELD]`: the file's text, or one value, in an editor. */
export function addEditCommand(program: Command): void {
  addRepositoryOption(addSessionOptions(program.command("edit")))
    .argument("[field]", "edit only its value, such as svc.services (default: the file of the repository)")
    .option("--reason <text>", "why, for whoever watches or reads the history; of a field only")
    .summary("edit the file of a repository, or one value, in your editor")
    .description(
      "edit the file of a repository, or one value, in your editor (VISUAL, else EDITOR)\n\nWhat you save is checked before anything changes: if something is wrong you are told where, and asked to edit again. What somebody else changed meanwhile is never overwritten. For the file the owner's key is needed.",
    )
    .action(edit);
}

async function edit(field: string | undefined, options: EditOptions): Promise<void> {
  const { withSession } = await import("./session.ts");
  const { chooseRepository } = await import("./repositories.ts");
  const { editFile, editValue } = await import("./edited-text.ts");
  const { editUntilGood } = await import("./edit-until-good.ts");
  await withSession(options, async ({ client }) => {
    const repository = await chooseRepository(client, options.repo);
    const edited =
      field === undefined
        ? await editFile(client, repository)
        : await editValue(client, repository, field, options.reason);
    await editUntilGood(edited);
  });
}
