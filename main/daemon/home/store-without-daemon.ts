import { realFileSystem } from "../../files/file-system.ts";
import type { Home } from "../../home/home.ts";
import { HomeError } from "../../home/prepare-home.ts";
import { Settings, type SettingsValues } from "../../home/settings.ts";
import { ScopeFiles } from "../../scopes/scope-files.ts";
import { Scopes } from "../../scopes/scopes.ts";
import type { Store } from "../../store/store.ts";
import { systemClock } from "../../time/clock.ts";
import { HeldHome, HomeInUseError } from "./held-home.ts";
import { openHomeStore } from "./home-store.ts";

/** A home that no daemon can use meanwhile. */
export interface Held extends AsyncDisposable {
  readonly home: Home;
  readonly settings: SettingsValues;
}

export async function holdHome(home: Home): Promise<Held> {
  const held = await HeldHome.open(
    home,
    () => {},
    () => {},
  ).catch((error: unknown) => {
    if (!(error instanceof HomeInUseError)) throw error;
    throw new HomeError(`A daemon is running on the home ${home.folder}. Stop it (repoconf stop) and retry.`);
  });
  const release = async () => held.release();
  try {
    const { values } = await Settings.open(home, systemClock, message => {
      throw new HomeError(message);
    });
    return { home, settings: values, [Symbol.asyncDispose]: release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** Runs `task` on the store of a home, including hand edits in its files; at the end, everything is in histories and files. */
export async function withStore<Result>(
  { home, settings }: Held,
  address: string | undefined,
  task: (store: Store) => Promise<Result>,
): Promise<Result> {
  const problems: string[] = [];
  const onProblem = (message: string) => void problems.push(message);
  const scopes = new Scopes();
  const scopeFiles = new ScopeFiles(home, scopes, onProblem, systemClock);
  await scopeFiles.reload();
  const { log: _, ...own } = settings;
  const files = {
    scopes,
    scopeFiles,
    // A home that is copied to a shared log still uses its own, although the settings may already name the shared one.
    settings: { values: address === undefined ? own : settings },
    reloadScopes: () => scopeFiles.reload(),
  };
  const store = await openHomeStore(
    { held: { home, assertHeld: () => {} }, files, address },
    { fileSystem: realFileSystem, clock: systemClock, onProblem },
  );
  try {
    for (const id of store.repositories.ids()) await store.repositories.read(id);
    return await task(store);
  } finally {
    await store.close();
  }
}
