import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stopDaemon } from "../../main/cli/commands/stop.ts";
import { homeAt } from "../../main/home/home.ts";
import { type Finished, type RunOptions, runRepoconf } from "./spawned-daemon.ts";

/** A temporary home and a temporary work folder, with the built command run on them as a user would. */
export interface CommandHome extends AsyncDisposable {
  readonly homeFolder: string;
  /** Where the commands run, unless `folder` is given. */
  readonly workFolder: string;
  /** Runs `repoconf ARGS`; a daemon that it starts is stopped at the end. */
  run(args: readonly string[], options?: RunOptions): Promise<Finished>;
  /** Like `run`, but fails unless it exits with code 0 and writes nothing to standard error; returns the output. */
  succeed(args: readonly string[], options?: RunOptions): Promise<string>;
  /** The content of `daemon.json` while a daemon runs. */
  endpoint(): Promise<{ readonly url: string; readonly pid: number }>;
}

/** A home whose path is too long for a Unix socket is reached through the port: the same tests run with such a home too. */
const homeName = process.env["REPOCONF_TEST_CHANNEL"] === "port" ? `home-${"h".repeat(100)}` : "home";

export async function makeCommandHome(): Promise<CommandHome> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "repoconf-cli-")));
  const homeFolder = join(folder, homeName);
  const run = (args: readonly string[], options: RunOptions = {}) =>
    runRepoconf(args, { folder, ...options, environment: { REPOCONF_HOME: homeFolder, ...options.environment } });
  return {
    homeFolder,
    workFolder: folder,
    run,
    succeed: async (args, options) => {
      const { code, output, errorOutput } = await run(args, options);
      if (code !== 0 || errorOutput !== "")
        throw new Error(`repoconf ${args.join(" ")} left with ${code}: ${errorOutput}`);
      return output;
    },
    endpoint: async () => JSON.parse(await readFile(join(homeFolder, "daemon.json"), "utf8")),
    [Symbol.asyncDispose]: async () => {
      // Does what `repoconf stop` does, but without a process, because hundreds of tests end here.
      await stopDaemon(homeAt(homeFolder), {}).catch(() => undefined);
      // A second daemon, started by a command beside a running one, may just be starting.
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
