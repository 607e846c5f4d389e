import type { Command } from "commander";
import type { Home } from "../../home/home.ts";
import { addHomeOption } from "../command-options.ts";

interface BackupOptions {
  readonly home?: string;
  readonly force?: boolean;
  readonly restore?: string;
  readonly yes?: boolean;
}

/** `repoconf backup FILE` and `repoconf backup --restore FILE`: a whole home without its keys, in one archive. */
export function addBackupCommand(program: Command): void {
  addHomeOption(program.command("backup"))
    .argument("[file]", "the archive to write, for example repoconf.tar.gz")
    .description(
      "back up repositories, their history, scopes and settings to one archive, or restore them from it; API keys are never included\n\nA backup can be made while a daemon is running. To restore an earlier revision of a single repository, use repoconf restore.\n\nBefore it asks, --restore shows what the backup brings that the home does not have and that runs programs or leads out of it: commands for secrets, values that tell tools what to run or become environment variables, a shared log, addresses of pages, and folders of repositories. Once restored they are in use. With --yes it names them without their values.",
    )
    .summary("back up a whole home to one archive, or restore it")
    .option("--force", "overwrite the archive if it exists")
    .option("--restore <file>", "replace the contents of the home with this archive")
    .option("--yes", "do not ask for confirmation before restoring")
    .action(backup);
}

async function backup(file: string | undefined, options: BackupOptions): Promise<void> {
  const { homeOf } = await import("../connect/session.ts");
  const { CommandError, exitCodes } = await import("../output/exit-codes.ts");
  if ((file === undefined) === (options.restore === undefined)) {
    const message = "Name the file to write: repoconf backup FILE. To restore one: repoconf backup --restore FILE";
    throw new CommandError(message, exitCodes.usage);
  }
  const home = homeOf(options);
  if (options.restore !== undefined) {
    const { restoreBackup } = await import("../backup/backup-restore.ts");
    return restoreBackup(home, options.restore, options.yes === true);
  }
  if (file !== undefined) await saveHome(home, file, options.force === true);
}

async function saveHome(home: Home, file: string, force: boolean): Promise<void> {
  const { countOf, writeArchive } = await import("../backup/backup-archive.ts");
  const { makeOutputFile } = await import("../output/output-file.ts");
  const { print, printNote, showProgress } = await import("../output/terminal.ts");
  const { isRestoreUnderway } = await import("../../home/restore.ts");
  if (await isRestoreUnderway(home)) {
    const { CommandError } = await import("../output/exit-codes.ts");
    const message = `A restore of the home ${home.folder} is in progress or was interrupted. Wait for it to finish, or complete it with repoconf restart. Then back up again.`;
    throw new CommandError(message);
  }
  await makeOutputFile(file, force, async temporaryFile => {
    const { repositories, inTree, leftOut } = await writeArchive(home, temporaryFile);
    showProgress("");
    print(`Saved ${countOf(repositories)} from ${home.folder} to ${file}. API keys are not included.`);
    if (inTree.length > 0) {
      const values = "For in-tree repositories it contains only the history; their values are in their work trees";
      print(`${values} (${inTree.join(", ")}).`);
    }
    if (leftOut.length > 0) printNote(`Not included, because these are not Repoconf files: ${leftOut.join(", ")}`);
  });
}
