import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { countConfigFields } from "../../../shared/config.ts";
import { RepoconfError } from "../../../shared/errors.ts";
import { describeCause } from "../../files/describe-cause.ts";
import { systemErrorCode } from "../../files/file-system.ts";
import { formatJsonText } from "../../files/json-text.ts";
import { chooseRepository } from "../connect/repositories.ts";
import { homeOf, openSession } from "../connect/session.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { counted } from "./finding.ts";

/**
 * Recreates the missing file of a repository from the stored values in the running daemon. Returns a sentence about what it did. Throws
 * CommandError if no daemon is running, if it has no values, or if the file exists: it is never overwritten.
 */
export async function rewriteRepository(named: string, options: { readonly home?: string }): Promise<string> {
  const home = homeOf(options);
  // Always uses the owner's key: another key may not be able to read every value, and those would be lost.
  using session = await openSession({ home: home.folder, keyFile: home.ownerKeyFile, start: false }).catch(error => {
    if (!(error instanceof RepoconfError) || error.code !== 1200) throw error;
    const message = `No daemon is running on ${home.folder}; only one that was started before the file was deleted knows its values. Check ${home.removed} and your backups.`;
    throw new CommandError(message, exitCodes.noDaemon);
  });
  const { client } = session;
  const { id, name, path, inTree } = await chooseRepository(client, named);
  const file = join(home.repositories, `${id}.json`);
  const head = { name, ...(path !== undefined && { path }) };
  let text: string;
  let summary: string;
  if (inTree) {
    text = formatJsonText({ ...head, inTree: true });
    summary = "its values are in its work tree";
  } else {
    const config = await client.run("config/list", { repo: id, stored: true }).catch(error => {
      throw new CommandError(`The daemon has no values for ${id}: ${describeCause(error)} Nothing was written.`);
    });
    text = formatJsonText({ $schema: `../${basename(home.repositorySchemaFile)}`, ...head, config });
    summary = `${counted(countConfigFields(config), "value")}; without comments and inactive values`;
  }
  try {
    // "wx" fails if the file exists.
    await writeFile(file, text, { flag: "wx", mode: 0o600, flush: true });
  } catch (error) {
    if (systemErrorCode(error) !== "EEXIST") throw error;
    throw new CommandError(`${file} exists and is not overwritten. Nothing was written.`);
  }
  return `Wrote ${file}: ${summary}.`;
}
