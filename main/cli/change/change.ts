import { configValue } from "../../../shared/config.ts";
import { joinConfigPath } from "../../../shared/config-path.ts";
import type { ChangedRepository, Reply } from "../../../shared/protocol.ts";
import type { OutputOptions, RepositoryOptions, SessionOptions, WriteOptions } from "../command-options.ts";
import { listFields, mask, readConfig, showValue } from "../connect/fields.ts";
import type { Requests } from "../connect/requests.ts";
import { printChangeJson, throwRefusal, warnOfMirrorProblem } from "../output/changes.ts";
import { withHidden } from "../output/masking.ts";
import { print } from "../output/terminal.ts";

export interface ChangeCommandOptions extends SessionOptions, OutputOptions, RepositoryOptions, WriteOptions {}

/**
 * Prints what a restore changed, and throws the errors of refused fields. With --json it prints one object: the repository's if
 * anything changed, and `errors` if anything was refused.
 */
export async function reportRestored(
  client: Requests,
  reply: Reply<readonly ChangedRepository[]>,
  options: ChangeCommandOptions,
  from: number,
): Promise<void> {
  const [changed] = reply.result;
  if (options.json) await printChangeJson(reply, () => listFields(client));
  else if (changed !== undefined) await printRestored(client, changed, options, from);
  await throwRefusal(reply, () => listFields(client));
}

async function printRestored(
  client: Requests,
  changed: ChangedRepository,
  { dryRun }: ChangeCommandOptions,
  from: number,
): Promise<void> {
  const { repo, config } = changed;
  const fields = await listFields(client);
  // A field that was not stored at that revision has its default again.
  const past = await readConfig(client, { repo, revision: from, stored: true });
  const stored = withHidden(past.config, past.masked);
  for (const [scope, values] of Object.entries(config)) {
    for (const [field, { value, layer, masked }] of Object.entries(values)) {
      const path = joinConfigPath(scope, field);
      const shown = masked ? mask : showValue(value, fields.get(path), false);
      const place = layer === undefined ? "" : ` (${layer})`;
      const mark = configValue(stored, scope, field) === undefined ? " (default)" : place;
      print(`${dryRun ? "Would restore" : "Restored"} ${path} = ${shown}${mark}`);
    }
  }
  warnOfMirrorProblem(changed);
}
