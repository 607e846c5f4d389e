import type { Command } from "commander";
import { addHomeOption } from "../command-options.ts";

interface CopyOptions {
  readonly home?: string;
  readonly to?: string;
  readonly from?: string;
}

/** `repoconf log copy`: moves a home from its own log to one that several machines share, or back. */
export function addLogCommand(program: Command): void {
  const log = program.command("log").description("move a home to a log shared by several machines, and back");
  addHomeOption(log.command("copy"))
    .description(
      "copy a home's repositories and their history to a shared log, which the home uses from then on, or back\n\nNo daemon may be running on the home. To resume an interrupted copy, run the command again.",
    )
    .summary("copy a home's repositories and history to a shared log, or back")
    .option("--to <address>", "the shared log, as nats://HOST:PORT/NAME")
    .option("--from <address>", "the shared log to copy from and stop using")
    .action(copy);
}

async function copy({ to, from, ...options }: CopyOptions): Promise<void> {
  const { CommandError, exitCodes } = await import("../output/exit-codes.ts");
  const address = to ?? from;
  if (address === undefined || (to !== undefined && from !== undefined))
    throw new CommandError("Name the shared log: repoconf log copy --to ADDRESS, or --from ADDRESS", exitCodes.usage);
  const { homeOf } = await import("../connect/session.ts");
  const { print, showProgress } = await import("../output/terminal.ts");
  const { copyFromShared, copyToShared } = await import("../../daemon/home/copy-log.ts");
  const home = homeOf(options);
  const run = to === undefined ? copyFromShared : copyToShared;
  const count = await run({
    home,
    address,
    onProgress: (repo, revision, newest) => showProgress(`${repo}: ${revision} of ${newest}`),
  });
  showProgress("");
  const repositories = count === 1 ? "1 repository" : `${count} repositories`;
  if (to === undefined) print(`${home.folder} now has its own log, with ${repositories} from ${address}.`);
  else
    print(
      `Copied ${repositories} from ${home.folder} to ${address}, and verified their histories.`,
      `Start the daemon with --log ${address}, or add "log": {"address": ${JSON.stringify(address)}} to ${home.settingsFile}.`,
    );
}
