import { join, resolve } from "node:path";
import { RepoconfError } from "../../shared/errors.ts";
import { absoluteFolderIn, accountFolder } from "./account-folder.ts";

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
  /** Files with the keys of agents, each by the name of its key. */
  readonly agents: string;
  readonly trustFile: string;
  /** Hashes of values that keys without the right to set commands have set. */
  readonly plainValuesFile: string;
  /** Commands that such keys propose. */
  readonly proposalsFile: string;
  /** The owner's unsaved edits on the screen. */
  readonly draftsFile: string;
  readonly settingsFile: string;
  readonly indexFile: string;
  /** What a person should know until they dismiss it. */
  readonly findingsFile: string;
  readonly logFile: string;
  /** Records refused requests and changes of keys. */
  readonly auditFile: string;
  readonly restoreFile: string;
  readonly repositorySchemaFile: string;
  readonly repositories: string;
  /** The values of one's own, a file for each repository that has some. */
  readonly local: string;
  readonly journal: string;
  readonly log: string;
  readonly removed: string;
  readonly scopes: string;
  /** Says which folders were added, to shells that have only built-ins. */
  readonly folders: string;
  readonly temporary: string;
  /** The path of the daemon's Unix socket. */
  readonly socket: string;
}

/**
 * The folder of the home: the requested one, which may be relative to the current folder, else REPOCONF_HOME, else the data folder of
 * the platform. Throws RepoconfError 1101 if that is not an absolute path.
 */
export function homeFolder(asked: string | undefined): string {
  return asked === undefined ? resolve(absoluteFolderIn("REPOCONF_HOME") ?? dataFolder()) : requestedFolder(asked);
}

/** Whether commands find the home without `--home` and REPOCONF_HOME. */
export function isDefaultHome(folder: string): boolean {
  try {
    return folder === resolve(dataFolder());
  } catch {
    return false;
  }
}

/** Throws RepoconfError 1101 for paths that a shell has made of something else. */
function requestedFolder(path: string): string {
  if (path === "")
    throw new RepoconfError(1101, "The home folder that was asked for (--home) is an empty text. Name a folder.");
  // After `--home=`, bash and zsh leave it as it is, and a folder called "~" would be created in the current one.
  if (path.startsWith("~"))
    throw new RepoconfError(
      1101,
      `The shell did not replace the ~ in ${JSON.stringify(path)}. Write the whole path, or ./${path} for a folder of that name.`,
    );
  return resolve(path);
}

function dataFolder(): string {
  if (process.platform === "win32") return join(accountFolder("LOCALAPPDATA", "AppData", "Local"), "repoconf", "Data");
  if (process.platform === "darwin") return accountFolder(undefined, "Library", "Application Support", "repoconf");
  return join(accountFolder("XDG_DATA_HOME", ".local", "share"), "repoconf");
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
    agents: at("agents"),
    trustFile: at("trust.json"),
    plainValuesFile: at("plain-values.json"),
    proposalsFile: at("proposals.json"),
    draftsFile: at("drafts.json"),
    settingsFile: at("settings.json"),
    indexFile: at("index.json"),
    findingsFile: at("findings.json"),
    logFile: at("daemon.log"),
    auditFile: at("audit.log"),
    restoreFile: at("restore.json"),
    repositorySchemaFile: at("repository.schema.json"),
    repositories: at("repos"),
    local: at("local"),
    journal: at("journal"),
    log: at("log"),
    removed: at("removed"),
    scopes: at("scopes"),
    folders: at("folders"),
    temporary: at("tmp"),
    socket: at("socket"),
  };
}
