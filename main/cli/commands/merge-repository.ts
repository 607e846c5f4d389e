import type { RepoconfClient } from "../../../shared/client/client.ts";
import { configEntries, configValue } from "../../../shared/config.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import type { Layer } from "../../../shared/protocol.ts";
import type { OutputOptions, SessionOptions } from "../command-options.ts";
import { readConfig } from "../connect/fields.ts";
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
    const layers = await compare(client, from.id, to.id);
    const name = `${to.name} (${to.id})`;
    const shown = (fields: (one: ComparedLayer) => readonly string[]) =>
      layers.flatMap(one => fields(one).map(path => (one.layer === "local" ? `${path} (local)` : path))).join(", ");
    const [gets, keeps] = [shown(({ lacking }) => lacking.map(([path]) => path)), shown(({ differing }) => differing)];
    if (gets !== "") printNote(`${name} gets: ${gets}`);
    if (keeps !== "") printNote(`${name} keeps its own value of: ${keeps}`);
    if (!options.yes)
      await confirmOrThrow(`Merge ${from.name} (${from.id}) into ${name}, and remove it?`, "Nothing was changed.");
    let { revision } = to;
    for (const { layer, lacking } of layers) {
      if (lacking.length === 0) continue;
      const how = { layer, revision, flush: true, reason: `merge of ${from.name} (${from.id})` };
      const [changed] = await client.run("config/set", { ...Object.fromEntries(lacking), repo: to.id, ...how });
      ({ revision = to.revision } = changed ?? {});
    }
    const isMoved = from.path !== undefined && to.path === undefined;
    const passedOn = { ...(isMoved && { path: from.path }), ...(from.favourite && { favourite: true }) };
    if (Object.keys(passedOn).length > 0) await client.run("repo/update", { repo: to.id, ...passedOn });
    const removed = await client.run("repo/remove", { repo: from.id });
    if (options.json) return printJson({ repo: to.id, ...removed });
    const kept = removed.movedTo === undefined ? "" : ` Its file was moved to ${removed.movedTo}`;
    print(`Merged ${from.name} (${from.id}) into ${name}.${isMoved ? ` ${from.path} is its folder now.` : ""}${kept}`);
  });
}

interface ComparedLayer {
  readonly layer: Layer;
  /** The values that `to` lacks. */
  readonly lacking: readonly (readonly [path: string, value: JsonValue])[];
  /** The fields that both have with different values. */
  readonly differing: readonly string[];
}

/** Compares layer by layer, so that no value gets from one into another. */
async function compare(client: RepoconfClient, from: string, to: string): Promise<readonly ComparedLayer[]> {
  const listed = [from, to].map(repo => readConfig(client, { repo, stored: true, layers: true }));
  const [ours, theirs] = (await Promise.all(listed)).map(({ layers }) => layers);
  return (["shared", "local"] as const).map(layer => {
    const lacking: [string, JsonValue][] = [];
    const differing: string[] = [];
    for (const { scope, field, value } of configEntries(ours?.[layer] ?? {})) {
      const other = configValue(theirs?.[layer] ?? {}, scope, field);
      const path = joinConfigPath(scope, field);
      if (other === undefined) lacking.push([path, value]);
      else if (!sameJson(other, value)) differing.push(path);
    }
    return { layer, lacking, differing };
  });
}
