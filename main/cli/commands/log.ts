import type { Command } from "commander";
import { addHomeOption } from "../command-options.ts";

interface CopyOptions {
  readonly home?: string;
  readonly to?: string;
  readonly from?: string;
  readonly start: boolean;
}

/** `repoconf log copy`: moves a home from its own log to one that several machines share, or back. */
export function addLogCommand(program: Command): void {
  const log = program.command("log").description("move a home to a log shared by several machines, and back");
  addHomeOption(log.command("copy"))
    .description(
      "copy a home's repositories and their history to a shared log, which the home uses from then on, or back\n\nThe copy is compared with the original, settings.json is adapted, and the daemon is started. To resume an interrupted copy, run the command again.",
    )
    .summary("copy a home's repositories and history to a shared log, or back")
    .option("--to <address>", "the shared log, as nats://HOST:PORT/NAME")
    .option("--from <address>", "the shared log to copy from and stop using")
    .option("--no-start", "do not start the daemon afterwards")
    .action(copy);
}

async function copy({ to, from, start, ...options }: CopyOptions): Promise<void> {
  const { CommandError, exitCodes } = await import("../output/exit-codes.ts");
  const address = to ?? from;
  if (address === undefined || (to !== undefined && from !== undefined))
    throw new CommandError("Name the shared log: repoconf log copy --to ADDRESS, or --from ADDRESS", exitCodes.usage);
  const { homeOf } = await import("../connect/session.ts");
  const { startDaemonInBackground } = await import("../connect/background.ts");
  const { stopDaemon } = await import("./stop.ts");
  const { print, showProgress } = await import("../output/terminal.ts");
  const { copyFromShared, copyToShared } = await import("../../daemon/home/copy-log.ts");
  const home = homeOf(options);
  const run = to === undefined ? copyFromShared : copyToShared;
  const stopped = await stopDaemon(home, {});
  let count: number;
  try {
    count = await run({
      home,
      address,
      onProgress: (repo, revision, newest) => showProgress(`${repo}: ${revision} of ${newest}`),
    });
  } catch (error) {
    if (stopped !== undefined) await startDaemonInBackground(home, { stay: true });
    throw error;
  } finally {
    showProgress("");
  }
  const repositories = count === 1 ? "1 repository" : `${count} repositories`;
  print(
    to === undefined
      ? `Compared ${repositories} with ${address}: ${home.folder} has all of it, and its own log from now on.`
      : `Copied ${repositories} from ${home.folder} to ${address}, and compared their histories. The home uses that log from now on.`,
  );
  if (!start) return;
  const { url } = await startDaemonInBackground(home, { stay: true });
  print(`The daemon is running at ${url}`);
}
