import { readdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { describeCause } from "../../files/describe-cause.ts";
import type { Home } from "../../home/home.ts";
import { HomeError, isThere } from "../../home/prepare-home.ts";
import type { SettingsValues } from "../../home/settings.ts";
import type { LogOptions, OpenedLog } from "../log/commit-log.ts";
import { parseStreamAddress } from "./stream/stream-address.ts";
import { positionFileName } from "./stream/stream-position.ts";
import { adviceOn, unreachable } from "./stream/stream-problems.ts";

/**
 * Returns the function that opens the shared log, if the home is to use one: at the requested address, else at the one in the
 * settings. Undefined: the home has its own log. Throws HomeError if that contradicts what the home used until now.
 */
export async function sharedLog(
  home: Home,
  asked: string | undefined,
  { log: settings }: SettingsValues,
): Promise<((options: LogOptions) => Promise<OpenedLog>) | undefined> {
  const { address: preferred, machine = hostname(), bytes: _, ...files } = settings ?? {};
  const text = asked ?? preferred;
  const isBound = await followsSharedLog(home);
  if (text === undefined) {
    if (!isBound) return undefined;
    throw new HomeError(
      `The home ${home.folder} uses a shared log. Start with --log ADDRESS, or add "log": {"address": ADDRESS} to ${home.settingsFile}.`,
    );
  }
  if (!isBound && (await hasRepositories(home)))
    throw new HomeError(
      `The home ${home.folder} already has repositories in its own log. To use a shared log, start with an empty home (--home DIR), or copy them: repoconf log copy.`,
    );
  const address = parseStreamAddress(text, files);
  // Only loaded in a home with a shared log.
  const { StreamLog } = await import("./stream/stream-log.ts");
  return async options => {
    try {
      return await StreamLog.open({ ...options, address, machine, temporaryFolder: home.temporary });
    } catch (error) {
      const why = describeCause(error);
      const advice = adviceOn(why);
      const message = `The shared log ${text} cannot be used: ${why}${advice === undefined ? "" : `. ${advice}`}`;
      throw new HomeError(message, { cause: error });
    }
  };
}

/** Throws HomeError if the server cannot be reached, or does not have the log. */
export async function assertSharedLogExists(text: string, { log: settings }: SettingsValues): Promise<void> {
  const { address: _, machine: __, bytes: ___, ...files } = settings ?? {};
  const { StreamSession } = await import("./stream/stream-session.ts");
  const address = parseStreamAddress(text, files);
  const session = await StreamSession.open(address, false).catch((error: unknown) => {
    throw new HomeError(unreachable(address, describeCause(error)), { cause: error });
  });
  await session.close();
}

/** Whether the home follows a shared log, whatever its settings say. */
export function followsSharedLog({ log }: Home): Promise<boolean> {
  return isThere(join(log, positionFileName));
}

export async function hasRepositories(home: Home): Promise<boolean> {
  for (const folder of [home.repositories, home.journal])
    if ((await readdir(folder).catch(() => [])).length > 0) return true;
  return false;
}
