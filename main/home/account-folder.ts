import { homedir, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { RepoconfError } from "../../shared/errors.ts";

/**
 * The folder that an environment variable names, else the usual one below the home folder of the account. Throws RepoconfError 1101
 * instead of returning a relative path: it would name another folder in each work tree, and private files would be created there.
 */
export function accountFolder(variable: string | undefined, ...usual: readonly string[]): string {
  return (variable && absoluteFolderIn(variable)) || join(accountHome(), ...usual);
}

/** The absolute path in an environment variable. An empty variable counts as not set. Throws RepoconfError 1101 for a relative path. */
export function absoluteFolderIn(variable: string): string | undefined {
  const path = process.env[variable];
  if (!path) return undefined;
  if (isAbsolute(path)) return path;
  throw new RepoconfError(
    1101,
    `${variable} is ${JSON.stringify(path)}, but must be an absolute path: a relative one would mean another folder in each work tree. Correct it, or unset it.`,
  );
}

function accountHome(): string {
  const home = systemHome();
  if (home !== undefined && isAbsolute(home)) return home;
  throw new RepoconfError(
    1101,
    `The home folder of your account is ${home ? `${JSON.stringify(home)}, which is not an absolute path` : "not known"}. Set HOME to an absolute path, or name the home of Repoconf with --home or REPOCONF_HOME.`,
  );
}

function systemHome(): string | undefined {
  try {
    // With an empty HOME, Node returns an empty path.
    return homedir() || userInfo().homedir;
  } catch {
    // The account has no entry in the system's list of users, as in some containers.
    return undefined;
  }
}
