import { copyFile, cp, mkdir, rm } from "node:fs/promises";
import type { Config } from "../../../shared/config.ts";
import { diffConfigs } from "../../../shared/config-diff.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { type Home, homeAt } from "../../home/home.ts";
import { HomeError, isThere } from "../../home/prepare-home.ts";
import { beforeFolder, isRestoreUnderway, putInPlace, stagingOf } from "../../home/restore.ts";
import { assertSharedLogExists } from "../../store/shared/shared-log.ts";
import { unreadable } from "../../store/shared/stream/stream-problems.ts";
import type { Store } from "../../store/store.ts";
import { systemClock } from "../../time/clock.ts";
import { holdHome, withStore } from "./store-without-daemon.ts";

/** What a home had before it was put back on its shared log. */
export interface Rejoined {
  readonly address: string;
  /** The number of repositories that the log has. */
  readonly count: number;
  /** The folder in the home with everything that was replaced. */
  readonly before: string;
  /** The repositories that only this home had. */
  readonly onlyHere: readonly NamedRepository[];
  /** Those that the log has too, and the fields that had another value here. */
  readonly differing: readonly (NamedRepository & { readonly fields: readonly string[] })[];
}

interface NamedRepository {
  readonly id: string;
  readonly name: string;
}

interface Had extends NamedRepository {
  readonly path: string | undefined;
  readonly favourite: true | undefined;
  readonly stored: Config;
}

/** Milliseconds without progress after which a log counts as one that cannot be read to its end. */
const patience = 3_000;
const pollInterval = 50;

/**
 * Reads the shared log of a home from its beginning, and puts what it has in the place of what the home had, which is kept aside. Each
 * repository keeps its folder, and stays a favourite. No daemon may run on the home. Undefined if the home follows the log already.
 * Throws HomeError; the home is then unchanged.
 */
export async function rejoinShared(home: Home): Promise<Rejoined | undefined> {
  await using held = await holdHome(home);
  const { address } = held.settings.log ?? {};
  if (address === undefined)
    throw new HomeError(
      `The home ${home.folder} names no shared log: add "log": {"address": ADDRESS} to settings.json.`,
    );
  await assertSharedLogExists(address, held.settings);
  const had = await withStore(held, address, async store =>
    (await isCaughtUp(store)) ? undefined : everythingIn(store),
  );
  if (had === undefined) return undefined;
  const staging = stagingOf(home);
  await rm(staging, { recursive: true, force: true });
  try {
    const found = await readInto(staging, home, address, had);
    const before = beforeFolder(home, "rejoin");
    await mkdir(before, { mode: 0o700 });
    await putInPlace(home, before);
    return { address, before, ...found };
  } finally {
    // After an interruption, the next start completes it.
    if (!(await isRestoreUnderway(home))) await rm(staging, { recursive: true, force: true });
  }
}

/** Joins the log in an empty home in this folder, with the settings, scopes and removed files of the real one. */
async function readInto(
  folder: string,
  home: Home,
  address: string,
  had: readonly Had[],
): Promise<Pick<Rejoined, "count" | "onlyHere" | "differing">> {
  const fresh = homeAt(folder);
  await mkdir(folder, { mode: 0o700 });
  await copyFile(home.settingsFile, fresh.settingsFile);
  for (const name of ["scopes", "removed"] as const)
    if (await isThere(home[name])) await cp(home[name], fresh[name], { recursive: true });
  await using held = await holdHome(fresh);
  const found = await withStore(held, address, async store => {
    if (!(await isCaughtUp(store))) throw new HomeError(`The home is unchanged: ${whyBehind(store)}`);
    const differing: Rejoined["differing"][number][] = [];
    for (const { id, name, path, favourite, stored } of had) {
      const state = await store.repositories.read(id);
      if (state === undefined) continue;
      if (path !== undefined || favourite)
        await store.roster.update(id, { ...(path !== undefined && { path }), ...(favourite && { favourite }) });
      const fields = diffConfigs(state.stored ?? {}, stored).map(({ scope, field }) => joinConfigPath(scope, field));
      if (fields.length > 0) differing.push({ id, name, fields });
    }
    const onlyHere = had.filter(({ id }) => !store.repositories.has(id));
    return { count: [...store.repositories.ids()].length, onlyHere, differing };
  });
  // It is made again from the files in their new place.
  await rm(fresh.indexFile, { force: true });
  return found;
}

async function everythingIn(store: Store): Promise<Had[]> {
  const had: Had[] = [];
  for (const id of store.repositories.ids()) {
    const { name = id, path, favourite, stored = {} } = (await store.repositories.read(id)) ?? {};
    had.push({ id, name, path, favourite, stored });
  }
  return had;
}

/** Why an empty home does not have everything of its log, and what to do. */
function whyBehind({ log, problems }: Store): string {
  return log.divergence === undefined ? problems.join(" ") : unreadable(log.divergence);
}

/** Waits until everything in the log is applied; false if it makes no progress. */
async function isCaughtUp({ log }: Store): Promise<boolean> {
  let { newest } = log;
  for (let end = Date.now() + patience; log.problem !== undefined; await systemClock.delay(pollInterval)) {
    if (newest !== log.newest) end = Date.now() + patience;
    if (Date.now() > end) return false;
    newest = log.newest;
  }
  return true;
}
