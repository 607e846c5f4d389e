import { RepoconfError } from "../../shared/errors.ts";
import { describeCause } from "../files/describe-cause.ts";
import { readHomeFile } from "../files/foreign-file.ts";
import { readNamedText } from "../files/named-text.ts";
import type { ReadHomeFile } from "../home/endpoint-file.ts";
import type { Home } from "../home/home.ts";

export interface LocateOptions {
  /** The home's folder. If left out: REPOCONF_HOME, or else the platform's data folder, which must be absolute (else RepoconfError 1101). */
  readonly home?: string;
  /** The key itself. If left out: the content of `keyFile`, or else REPOCONF_API_KEY, or else the owner's key in the home. */
  readonly apiKey?: string;
  readonly keyFile?: string;
}

/** Throws RepoconfError 1100 if there is none. */
export async function findKey(
  home: Home,
  { apiKey, keyFile }: LocateOptions,
  read: ReadHomeFile = readHomeFile,
): Promise<string> {
  if (apiKey) return apiKey;
  const fromEnvironment = process.env["REPOCONF_API_KEY"];
  if (!keyFile && fromEnvironment) return fromEnvironment;
  const path = keyFile || home.ownerKeyFile;
  try {
    const own = path === home.ownerKeyFile ? await read(path) : null;
    return (own?.bytes.toString() ?? (await readNamedText(path))).trim();
  } catch (error) {
    const cause = describeCause(error);
    throw new RepoconfError(
      1100,
      `The key file ${path} cannot be read: ${cause}. Give a key with --key-file or REPOCONF_API_KEY.`,
      {},
      error,
    );
  }
}
