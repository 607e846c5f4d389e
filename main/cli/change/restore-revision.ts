import type { RepoconfClient } from "../../../shared/client/client.ts";
import { configValue } from "../../../shared/config.ts";
import { splitConfigPath } from "../../../shared/config-path.ts";
import { listFields, readConfig } from "../connect/fields.ts";
import { chooseToChange } from "../connect/repositories.ts";
import { changeArguments, throwRefusal } from "../output/changes.ts";
import { withHidden } from "../output/masking.ts";
import { print } from "../output/terminal.ts";
import { type ChangeCommandOptions, reportRestored } from "./change.ts";
import { confirmChange, type Preview, previewChanges } from "./preview-changes.ts";

interface RestoreRequest {
  readonly to: number;
  /** Empty: every field that differs. */
  readonly fields: readonly string[];
  readonly reason: string;
  /** Whether to show what would change and ask first. */
  readonly asks: boolean;
}

/** Restores the values that fields had at a revision, in a new revision, and prints them. */
export async function restoreRevision(
  client: RepoconfClient,
  { to, fields, reason, asks }: RestoreRequest,
  options: ChangeCommandOptions,
): Promise<void> {
  const repository = await chooseToChange(client, options.repo);
  const { id, name, revision } = repository;
  const send = (more: { readonly revision?: number; readonly dryRun?: true } = {}) =>
    client.request("history/restore", {
      reason,
      ...(fields.length > 0 && { fields }),
      ...changeArguments(options),
      ...more,
      repo: id,
      to,
    });
  let shown: { readonly revision?: number } = {};
  if (asks) {
    const known = await listFields(client);
    const { config, masked } = await readConfig(client, { repo: id, revision: to, stored: true });
    const past = withHidden(config, masked);
    const unset = [...known.keys()].filter(path => {
      const { scope = "", field = "" } = splitConfigPath(path) ?? {};
      return configValue(past, scope, field) === undefined;
    });
    const tryOut = (at: Preview["revisions"]) =>
      send({ revision: options.ifRevision ?? at[id] ?? revision, dryRun: true });
    const preview = await previewChanges(client, { repositories: [repository], unset, fields: known, tryOut });
    if (preview.count === 0) await throwRefusal(preview.reply, () => listFields(client));
    // The restore is refused if the repository has changed since, because the user agreed only to what was shown.
    else {
      await confirmChange(preview.lines, `Take ${name} back to revision ${to}?`);
      shown = { revision: preview.revisions[id] ?? revision };
    }
  }
  const reply = await send(shown);
  const [restored] = reply.result;
  const { forgotten = [], masked = [] } = restored ?? {};
  // No new revision, not even with --dry-run.
  const nothing = restored?.revision === revision && reply.errors.length === 0;
  if (!options.json) {
    for (const field of forgotten) print(`Not restored: ${field}, because its value at revision ${to} was erased.`);
    if (masked.length > 0)
      print(`Not restored: ${masked.join(", ")}, because this key may not see the values. To restore one, name it.`);
  }
  if (!nothing || options.json) return reportRestored(client, reply, options, to);
  const all = forgotten.length + masked.length === 0 ? "every value is" : "every other value is";
  const what = fields.length === 0 ? all : `${fields.join(", ")} ${fields.length === 1 ? "is" : "are"}`;
  print(`Nothing to restore: ${what} already as ${fields.length > 1 ? "they were" : "it was"} at revision ${to}.`);
}
