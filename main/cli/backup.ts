import type { Command } from "commander";
import type { Home } from "../home.ts";
import { addHomeOption } from "./command-options.ts";

interface BackupOptions {
  readonly home?: string;
  readonly force?: boolean;
  readonly restore?: string;
  readonly yes?: boolean;
}

/** `repoconf backup FILE` and `repoconf backup --restore FILE`: a whole home but its keys, in one archive. */
export function addBackupCommand(program: Command): void {
  addHomeOption(program.command("backup"))
    .argument("[file]", "the archive to write, such as repoconf.tar.gz")
    .description(
      "save repositories, their history, scopes and settings in one archive, or bring them back; API keys are never in it\n\nA daemon may run while it is saved. To bring back an earlier revision of one repository: repoconf restore.",
    )
    .summary("save a whole home in one archive, or bring it back")
    .option("--force", "replace the archive if it is there")
    .option("--restore <file>", "put what this archive holds in place of what is in the home")
    .option("--yes", "do not ask before a restore")
    .action(backup);
}

async function backup(file: string | undefined, options: BackupOptions): Promise<void> {
  const { homeOf } = await import("./session.ts");
  const { CommandError, exitCodes } = await import("./exit-codes.ts");
  if ((file === undefined) === (options.restore === undefined)) {
    const message =
      "Name the file to write: repoconf backup FILE. Or the one to bring back: repoconf backup --restore FILE";
    throw new CommandError(message, exitCodes.usage);
  }
  const home = homeOf(options);
  if (options.restore !== undefined) {
    const { restoreBackup } = await import("./backup-restore.ts");
    return restoreBackup(home, options.restore, options.yes === true);
  }
  if (file !== undefined) await saveHome(home, file, options.force === true);
}

async function saveHome(home: Home, file: string, force: boolean): Promise<void> {
  const { countOf, writeArchive } = await import("./backup-archive.ts");
  const { makeOutputFile } = await import("./output-file.ts");
  const { print, printNote, showProgress } = await import("./terminal.ts");
  const { isRestoreUnderway } = await import("../daemon/restore.ts");
  if (await isRestoreUnderway(home)) {
    const { CommandError } = await import("./exit-codes.ts");
    const message = `A restore of the home ${home.folder} is under way, or was interrupted. Wait for it, or let the next start complete it: repoconf restart. Then back up again.`;
    throw new CommandError(message);
  }
  await makeOutputFile(file, force, async temporaryFile => {
    const { repositories, inTree, leftOut } = await writeArchive(home, temporaryFile);
    showProgress("");
    print(`Saved ${countOf(repositories)} of ${home.folder} in ${file}. API keys are not in it.`);
    if (inTree.length > 0) {
      const values = "Of in-tree repositories only the history is in it: their values stand in their work trees";
      print(`${values} (${inTree.join(", ")}).`);
    }
    if (leftOut.length > 0) printNote(`Left out, as they are no files of Repoconf: ${leftOut.join(", ")}`);
  });
}
