import type { Command } from "commander";
import {
  addLayerOptions,
  addRepositoryOption,
  addSessionOptions,
  type LayerOptions,
  type RepositoryOptions,
  type SessionOptions,
} from "../command-options.ts";

interface EditOptions extends SessionOptions, RepositoryOptions, LayerOptions {
  readonly reason?: string;
}

/** `repoconf edit [FIELD]`: opens a repository's file, or one value, in an editor. */
export function addEditCommand(program: Command): void {
  addLayerOptions(addRepositoryOption(addSessionOptions(program.command("edit"))))
    .argument(
      "[field]",
      "edit only the value of this field, such as svc.services, or of a place inside it (default: the repository's whole file)",
    )
    .option("--reason <text>", "why, recorded in the history and shown to watchers; for a field only")
    .summary("edit the file of a repository, or one value, in your editor")
    .description(
      "edit the file of a repository, or one value, in your editor (VISUAL, else EDITOR)\n\nYour text is checked before anything changes: if something is wrong, you see where and can edit again. Changes that somebody else made in the meantime are never overwritten. An editor that opens a window has to wait until it is closed: EDITOR='code --wait'. Editing the whole file needs the owner's key.",
    )
    .action(edit);
}

async function edit(field: string | undefined, options: EditOptions): Promise<void> {
  const { withSession } = await import("../connect/session.ts");
  const { chooseToChange } = await import("../connect/repositories.ts");
  const { editFile, editValue } = await import("../change/edited-text.ts");
  const { editUntilValid } = await import("../change/edit-until-valid.ts");
  const { layerOf } = await import("../output/changes.ts");
  const layer = layerOf(options);
  await withSession(options, async ({ client }) => {
    const repository = await chooseToChange(client, options.repo);
    const edited =
      field === undefined
        ? await editFile(client, repository, layer)
        : await editValue(client, repository, field, { reason: options.reason, layer });
    await editUntilValid(edited);
  });
}
