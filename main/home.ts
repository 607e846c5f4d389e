import { join, resolve } from "node:path";
import envPaths from "env-paths";

/** The paths of everything in a home. */
export interface Home {
  readonly folder: string;
  readonly formatFile: string;
  readonly lockFile: string;
  readonly endpointFile: string;
  /** Reserved disk space, which is freed when the disk is full, so that `daemon.json` can still be written. */
  readonly reserveFile: string;
  readonly ownerKeyFile: string;
  readonly keysFile: string;
  readonly trustFile: string;
  /** The owner's unsaved edits on the screen. */
  readonly draftsFile: string;
  readonly settingsFile: string;
  readonly indexFile: string;
  readonly logFile: string;
  /** Records refused requests and changes of keys. */
  readonly auditFile: string;
  readonly restoreFile: string;
  readonly repositorySchemaFile: string;
  readonly repositories: string;
  readonly journal: string;
  readonly log: string;
  readonly removed: string;
  readonly scopes: string;
  readonly temporary: string;
  /** The path of the daemon's Unix socket. */
  readonly socket: string;
}

/** The folder of the home: the requested one, else REPOCONF_HOME, else the data folder of the platform. */
export function homeFolder(
  asked: string | undefined,
  environment: { readonly [name: string]: string | undefined } = process.env,
): string {
  return resolve(asked || environment["REPOCONF_HOME"] || envPaths("repoconf", { suffix: "" }).data);
}

/** The paths in a home; accesses no file. */
export function homeAt(folder: string): Home {
  const at = (name: string) => join(folder, name);
  return {
    folder,
    formatFile: at("format"),
    lockFile: at("lock"),
    endpointFile: at("daemon.json"),
    reserveFile: at("reserve"),
    ownerKeyFile: at("owner.key"),
    keysFile: at("keys.json"),
    trustFile: at("trust.json"),
    draftsFile: at("drafts.json"),
    settingsFile: at("settings.json"),
    indexFile: at("index.json"),
    logFile: at("daemon.log"),
    auditFile: at("audit.log"),
    restoreFile: at("restore.json"),
    repositorySchemaFile: at("repository.schema.json"),
    repositories: at("repos"),
    journal: at("journal"),
    log: at("log"),
    removed: at("removed"),
    scopes: at("scopes"),
    temporary: at("tmp"),
    socket: at("socket"),
  };
}
