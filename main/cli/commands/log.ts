import type { Command } from "commander";
import type { Home } from "../../home/home.ts";
import { addHomeOption } from "../command-options.ts";

interface CopyOptions {
  readonly home?: string;
  readonly to?: string;
  readonly from?: string;
  readonly leaveLocal?: boolean;
  readonly start: boolean;
}

/** `repoconf log copy`: moves a home from its own log to one that several machines share, or back. */
export function addLogCommand(program: Command): void {
  const log = program.command("log").description("move a home to a log shared by several machines, and back");
  addHomeOption(log.command("copy"))
    .description(
      "copy a home's repositories and their history to a shared log, which the home uses from then on, or back\n\nThe copy is compared with the original, settings.json is adapted, and the daemon is started. To resume an interrupted copy, run the command again.\n\nA shared log has no local values (--local) yet, so a home with some is refused, unless you pass --leave-local. They and the histories of all local values, also of earlier ones, are then in a folder of the home, before-copy-TIME.",
    )
    .summary("copy a home's repositories and history to a shared log, or back")
    .option("--to <address>", "the shared log, as nats://HOST:PORT/NAME")
    .option("--from <address>", "the shared log to copy from and stop using")
    .option("--leave-local", "with --to: move local values to a folder of the home, instead of refusing to copy it")
    .option("--no-start", "do not start the daemon afterwards")
    .action(copy);
  addHomeOption(log.command("rejoin"))
    .description(
      "put a home back on its shared log, after it has diverged from it\n\nReads the log from its beginning, keeps what the home had before in a folder, says what only it had, and starts the daemon. Repositories keep their folders.",
    )
    .summary("put a home that has diverged back on its shared log")
    .action(rejoin);
}

async function copy({ to, from, leaveLocal = false, start, ...options }: CopyOptions): Promise<void> {
  const { CommandError, exitCodes } = await import("../output/exit-codes.ts");
  const address = to ?? from;
  if (address === undefined || (to !== undefined && from !== undefined))
    throw new CommandError("Name the shared log: repoconf log copy --to ADDRESS, or --from ADDRESS", exitCodes.usage);
  const { print, printNote, showProgress } = await import("../output/terminal.ts");
  const { copyFromShared, copyToShared } = await import("../../daemon/home/copy-log.ts");
  const run = to === undefined ? copyFromShared : copyToShared;
  await withoutDaemon(options, start, async home => {
    const onProgress = (repo: string, revision: number, newest: number) =>
      showProgress(`${repo}: ${revision} of ${newest}`);
    const count = await run({ home, address, leaveLocal, onNote: printNote, onProgress }).finally(() =>
      showProgress(""),
    );
    print(
      to === undefined
        ? `Compared ${repositories(count)} with ${address}: ${home.folder} has all of it, and its own log from now on.`
        : `Copied ${repositories(count)} from ${home.folder} to ${address}, and compared their histories. The home uses that log from now on.`,
    );
  });
}

async function rejoin(options: { readonly home?: string }): Promise<void> {
  const { print } = await import("../output/terminal.ts");
  const { rejoinShared } = await import("../../daemon/home/rejoin-log.ts");
  await withoutDaemon(options, true, async home => {
    const done = await rejoinShared(home);
    if (done === undefined) return print(`${home.folder} is on its shared log. Nothing was changed.`);
    print(
      `${home.folder} is back on ${done.address}, which has ${repositories(done.count)}.`,
      `What it had before, files and histories, is in ${done.before}`,
    );
    for (const { id, name } of done.onlyHere) print(`Only this machine had ${name}: repos/${id}.json there`);
    for (const { id, name, fields } of done.differing)
      print(`Had other values here (repos/${id}.json there), in ${name}: ${fields.join(", ")}`);
  });
}

/** Stops the daemon of the home, and starts one after the work; also if that fails and one was running. */
async function withoutDaemon(
  options: { readonly home?: string },
  start: boolean,
  work: (home: Home) => Promise<void>,
): Promise<void> {
  const { homeOf } = await import("../connect/session.ts");
  const { startDaemonInBackground } = await import("../connect/background.ts");
  const { stopDaemon } = await import("./stop.ts");
  const { print } = await import("../output/terminal.ts");
  const home = homeOf(options);
  const stopped = await stopDaemon(home, {});
  try {
    await work(home);
  } catch (error) {
    if (stopped !== undefined) await startDaemonInBackground(home, { stay: true });
    throw error;
  }
  if (!start) return;
  const { url } = await startDaemonInBackground(home, { stay: true });
  print(`The daemon is running at ${url}`);
}

function repositories(count: number): string {
  return count === 1 ? "1 repository" : `${count} repositories`;
}
