import type { RepoconfClient } from "../../../shared/client/client.ts";
import { configEntries, configValue } from "../../../shared/config.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { sameJson } from "../../../shared/json.ts";
import type { OutputOptions, SessionOptions } from "../command-options.ts";
import { chooseRepository } from "../connect/repositories.ts";
import { withSession } from "../connect/session.ts";
import { CommandError } from "../output/exit-codes.ts";
import { confirmOrThrow, print, printJson, printNote } from "../output/terminal.ts";

/** `repoconf repo merge`: what the one lacks comes from the other, which is removed. */
export async function mergeRepository(
  named: string,
  into: string,
  options: SessionOptions & OutputOptions & { readonly yes?: boolean },
): Promise<void> {
  await withSession(options, async ({ client }) => {
    const from = await chooseRepository(client, named);
    const to = await chooseRepository(client, into);
    if (from.id === to.id) throw new CommandError(`${from.name} (${from.id}) cannot be merged into itself.`);
    if (from.inTree || to.inTree)
      throw new CommandError("The values of an in-tree repository are in its work tree: merge them with git.");
    const { lacking, differing } = await compare(client, from.id, to.id);
    const name = `${to.name} (${to.id})`;
    if (lacking.length > 0) printNote(`${name} gets: ${lacking.map(([path]) => path).join(", ")}`);
    if (differing.length > 0) printNote(`${name} keeps its own value of: ${differing.join(", ")}`);
    if (!options.yes)
      await confirmOrThrow(`Merge ${from.name} (${from.id}) into ${name}, and remove it?`, "Nothing was changed.");
    if (lacking.length > 0) {
      const reason = `merge of ${from.name} (${from.id})`;
      await client.run("config/set", { ...Object.fromEntries(lacking), repo: to.id, revision: to.revision, reason });
    }
    const isMoved = from.path !== undefined && to.path === undefined;
    if (isMoved) await client.run("repo/update", { repo: to.id, path: from.path });
    const removed = await client.run("repo/remove", { repo: from.id });
    if (options.json) return printJson({ repo: to.id, ...removed });
    const kept = removed.movedTo === undefined ? "" : ` Its file was moved to ${removed.movedTo}`;
    print(`Merged ${from.name} (${from.id}) into ${name}.${isMoved ? ` ${from.path} is its folder now.` : ""}${kept}`);
  });
}

/** The values that `to` lacks, and the fields that both have with different values. */
async function compare(client: RepoconfClient, from: string, to: string) {
  const [ours, theirs] = await Promise.all([from, to].map(repo => client.run("config/list", { repo, stored: true })));
  const lacking: [string, unknown][] = [];
  const differing: string[] = [];
  for (const { scope, field, value } of configEntries(ours ?? {})) {
    const other = configValue(theirs ?? {}, scope, field);
    const path = joinConfigPath(scope, field);
    if (other === undefined) lacking.push([path, value]);
    else if (!sameJson(other, value)) differing.push(path);
  }
  return { lacking, differing };
}
