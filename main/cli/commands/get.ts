import { type Command, Option } from "commander";
import type { RepoconfClient } from "../../../shared/client/client.ts";
import { configEntries, pathsIn } from "../../../shared/config.ts";
import type { RepositoryEntry } from "../../../shared/protocol.ts";
import { addOptions, type OutputOptions, type RepositoryOptions, type SessionOptions } from "../command-options.ts";
import { getRows } from "../options.ts";
import { printValues, type ReadValues } from "../output/values.ts";

export interface GetOptions extends SessionOptions, OutputOptions, RepositoryOptions {
  readonly withRevision?: boolean;
  readonly offline?: boolean;
  readonly trustCommands?: boolean;
  readonly reveal?: boolean;
}

/** `repoconf get FIELD...`: prints values, for scripts. */
export function addGetCommand(program: Command): void {
  addOptions(program.command("get"), getRows)
    .argument("<field...>", "such as svc.timeout, or a place inside a value: svc.services.web.image")
    .summary("print values: text as it is, anything else as JSON")
    .description(
      "print values: text as it is, anything else as JSON\n\nSeveral values are read at the same moment and printed one per line, so none may contain line breaks; with --json they are one object. Text with half of a character (a lone surrogate) is printed with --json only. A script that computes a new value from the old one reads it with --with-revision and sets it with --if-revision, so that no change in between is lost.",
    )
    .addOption(offlineOption)
    .option(
      "--trust-commands",
      "with --offline: also print commands and environment variables, for use where the work tree's commands are run anyway",
    )
    .action(get);
}

const offlineOption = new Option(
  "--offline",
  "read the work tree's .repoconf.json directly, without a daemon, home or key, so without local values; writes nothing (for CI and hooks)",
).conflicts(["withRevision", "repo", "keyFile"]);

async function get(names: readonly string[], options: GetOptions): Promise<void> {
  if (options.offline) {
    const { readOffline } = await import("../connect/read-offline.ts");
    const how = { trustsCommands: options.trustCommands === true, reveal: options.reveal === true };
    return printValues({ values: await readOffline(names, how), revision: 0 }, options);
  }
  const { withSession } = await import("../connect/session.ts");
  const { chooseRepository } = await import("../connect/repositories.ts");
  await withSession(options, async ({ client }) => {
    const repository = await chooseRepository(client, options.repo);
    await printValues(await readValues(client, repository, names, options.reveal === true), options);
  });
}

/** Reads all values at one revision. Throws RequestError; CommandError for unknown fields, or for masked values without `reveal`. */
async function readValues(
  client: RepoconfClient,
  { id: repo, health }: RepositoryEntry,
  names: readonly string[],
  reveal: boolean,
): Promise<ReadValues> {
  const { readConfig } = await import("../connect/fields.ts");
  const { listFields } = await import("../connect/fields.ts");
  const { refuseHidden, refuseMasked } = await import("../output/masking.ts");
  const [only = "", ...more] = names;
  if (more.length === 0 && /^[^."[]*\.?[^."[]*$/.test(only)) {
    // Both requests run at the same time, so that scripts wait for one round trip only.
    const fields = reveal ? undefined : listFields(client);
    fields?.catch(() => {});
    // With `waits`, the daemon reads the file first: a script may have checked out another branch a moment ago.
    const { config, revision, masked } = await readConfig(client, { repo, field: only, waits: true });
    refuseHidden(masked);
    if (fields !== undefined) refuseMasked(pathsIn(config), await fields);
    return { values: Array.from(configEntries(config), ({ value }) => [only, value]), revision };
  }
  const { readAt, readPlace } = await import("../change/value-place.ts");
  const fields = await listFields(client);
  const places = names.map(name => readPlace(name, fields));
  const named = places.map(({ field }) => field);
  const { config, revision, masked } = await readConfig(client, { repo, waits: true });
  // First, because --reveal does not help a key that may not see them.
  refuseHidden(masked.filter(path => named.includes(path)));
  if (!reveal) refuseMasked(named, fields);
  const values = places.map((place, index) => {
    const name = names[index] ?? place.field;
    return [name, readAt(config, place, name, fields, health)] as const;
  });
  return { values, revision };
}
