import { basename } from "node:path";
import type { Home } from "../../home/home.ts";
import { homeFormat, markFormat, privateFile, sharedHomeFormat } from "../../home/prepare-home.ts";
import { defaultRetention, type SettingsValues } from "../../home/settings.ts";
import type { ScopeFiles } from "../../scopes/scope-files.ts";
import { FileStore, type FileStoreOptions } from "../../store/file-store.ts";
import { sharedLog } from "../../store/shared/shared-log.ts";
import { SharedScopes } from "../../store/shared/shared-scopes.ts";
import { TrustedValues } from "../../store/values/trusted-values.ts";

type FromHome =
  | "sharedScopes"
  | "folders"
  | "indexPath"
  | "schemaReference"
  | "retention"
  | "trust"
  | "openLog"
  | "sharedLogBytes";

export interface HomeStoreOptions extends Omit<FileStoreOptions, FromHome> {
  readonly home: Home;
  readonly scopeFiles: ScopeFiles;
  /** Reads the files of the scopes again and updates everything that depends on them. */
  reloadScopes(): Promise<unknown>;
  /** The current settings. */
  settings(): SettingsValues;
  /** The address of a shared log. If omitted: the address in the settings, else the home has its own log. */
  readonly address?: string;
}

/** Opens the repositories of a home on its log, and marks the home with the format that it then has. Throws HomeError. */
export async function openHomeStore({
  home,
  scopeFiles,
  reloadScopes,
  settings,
  address,
  ...options
}: HomeStoreOptions): Promise<FileStore> {
  const { fileSystem, clock, onProblem } = options;
  const openLog = await sharedLog(home, address, settings());
  // Written before the home follows a shared log: an older daemon would create a file log beside it.
  if (openLog !== undefined) await markFormat(home, sharedHomeFormat);
  const trust = await TrustedValues.open(privateFile(home, home.trustFile, fileSystem), (message, error) =>
    onProblem(message, { error: String(error) }),
  );
  const files = { home, scopeFiles, reload: reloadScopes, ...(fileSystem !== undefined && { fileSystem }) };
  const sharedScopes = openLog && (await SharedScopes.open({ ...files, clock, onProblem }));
  const sharedLogBytes = settings().log?.bytes;
  const store = await FileStore.open({
    ...options,
    trust,
    folders: home,
    indexPath: home.indexFile,
    schemaReference: `../${basename(home.repositorySchemaFile)}`,
    retention: () => ({ ...defaultRetention, ...settings().history }),
    ...(openLog !== undefined && { openLog }),
    ...(sharedScopes !== undefined && { sharedScopes }),
    ...(sharedLogBytes !== undefined && { sharedLogBytes }),
  });
  if (openLog === undefined) await markFormat(home, homeFormat);
  return store;
}
