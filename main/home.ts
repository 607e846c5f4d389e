import { join, resolve } from "node:path";
import envPaths from "env-paths";

/** Where everything in a home stands. */
export interface Home {
  readonly folder: string;
  readonly formatFile: string;
  readonly lockFile: string;
  readonly endpointFile: string;
  /** Room on the disk that is given away for the one before when there is none left. */
  readonly reserveFile: string;
  readonly ownerKeyFile: string;
  readonly keysFile: string;
  readonly trustFile: string;
  /** What the owner has edited on the screen and not saved. */
  readonly draftsFile: string;
  readonly settingsFile: string;
  readonly indexFile: string;
  readonly logFile: string;
  /** What was refused, and what became of keys. */
  readonly auditFile: string;
  readonly restoreFile: string;
  readonly repositorySchemaFile: string;
  readonly repositories: string;
  readonly journal: string;
  readonly log: string;
  readonly removed: string;
  readonly scopes: string;
  readonly temporary: string;
  /** Of the daemon's Unix socket. */
  readonly socket: string;
}

/** The home's folder: what was asked for, else REPOCONF_HOME, else the platform's data folder. */
export function homeFolder(
  asked: string | undefined,
  environment: { readonly [name: string]: string | undefined } = process.env,
): string {
  return resolve(asked || environment["REPOCONF_HOME"] || envPaths("repoconf", { suffix: "" }).data);
}

/** The places in a home; touches no file. */
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
