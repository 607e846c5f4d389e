import { privateFile } from "../../home/prepare-home.ts";
import { defaultRetention, type Settings } from "../../home/settings.ts";
import type { StoreSurroundings } from "../../store/context.ts";
import { Findings } from "../../store/findings.ts";
import { sharedLog } from "../../store/shared/shared-log.ts";
import { SharedScopes } from "../../store/shared/shared-scopes.ts";
import { Store, type StoreOptions } from "../../store/store.ts";
import { TrustedValues } from "../../store/values/trusted-values.ts";
import type { HeldHome } from "./held-home.ts";
import type { HomeFiles } from "./home-files.ts";

/** The home of the store, and what the daemon has read of it. */
interface StoreHome {
  readonly held: Pick<HeldHome, "home" | "assertHeld">;
  readonly files: Pick<HomeFiles, "scopes" | "scopeFiles"> & {
    readonly settings: Pick<Settings, "values">;
    /** Reads the files of the scopes again and updates everything that depends on them. */
    reloadScopes(): Promise<unknown>;
  };
  /** The address of a shared log. If undefined: the address in the settings, else the home has its own log. */
  readonly address: string | undefined;
}

/** Opens the repositories of a home on its log. Throws HomeError. */
export async function openHomeStore(
  { held, files, address }: StoreHome,
  { fileSystem, clock, onProblem }: Pick<StoreSurroundings, "fileSystem" | "clock" | "onProblem">,
  options: Omit<StoreOptions, "assertHeld" | "retention" | "openLog" | "shared"> = {},
): Promise<Store> {
  const { home } = held;
  const { scopes, scopeFiles, settings } = files;
  const openLog = await sharedLog(home, address, settings.values);
  const findings = await Findings.open({ paths: home, fileSystem, clock, onProblem });
  const trust = await TrustedValues.open(
    {
      trusted: privateFile(home, home.trustFile, fileSystem),
      plain: privateFile(home, home.plainValuesFile, fileSystem),
    },
    (message, error) => onProblem(message, { error: String(error) }),
    (message, file) => findings.addDamaged(file, message),
  );
  const own = { home, scopeFiles, fileSystem, reload: () => files.reloadScopes() };
  const leastBytes = settings.values.log?.bytes;
  const shared = openLog && {
    scopes: await SharedScopes.open({ ...own, clock, onProblem }),
    ...(leastBytes !== undefined && { leastBytes }),
  };
  return Store.open(
    { scopes, trust, findings, paths: home, fileSystem, clock, onProblem },
    {
      ...options,
      assertHeld: () => held.assertHeld(),
      retention: () => ({ ...defaultRetention, ...settings.values.history }),
      ...(openLog !== undefined && { openLog }),
      ...(shared !== undefined && { shared }),
    },
  );
}
