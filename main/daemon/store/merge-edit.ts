import { applyConfigEdits, type Config, configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { sameJson } from "../../../shared/json.ts";

/** A write of ours that went by a moment ago: what the file held before and after, and which fields that changed. */
export interface RecentWrite {
  /** Milliseconds, by the clock's `monotonic()`. */
  readonly at: number;
  readonly before: { readonly textHash: string; readonly config: Config };
  readonly after: { readonly textHash: string; readonly config: Config };
  readonly paths: readonly ConfigPath[];
}

/** How long ago, in milliseconds, a write may be that a hand edit is taken not to have known of. */
export const staleEditAge = 2_000;

/**
 * What a file should hold if a program has read it, changed it and written it back while sets went by: its changes, and
 * the sets'. Undefined if it is an edit like any other, which is taken as it stands. It is a guess, so both must hold: the
 * text is none that was there a moment ago (that is a revert), and every field of the sets since some moment is as it was
 * at that moment. Of several such moments the earliest counts, so that no set is taken back that it did not know of.
 */
export function mergeStaleEdit(
  edit: { readonly textHash: string; readonly config: Config },
  recent: readonly RecentWrite[],
): Config | undefined {
  const current = recent.at(-1)?.after.config;
  if (current === undefined) return undefined;
  if (recent.some(({ before, after }) => before.textHash === edit.textHash || after.textHash === edit.textHash))
    return undefined;
  const isAsIn = (config: Config, path: ConfigPath) => sameJson(valueIn(config, path), valueIn(edit.config, path));
  /** The fields of the sets since the moment looked at. */
  const touched = new Map<string, ConfigPath>();
  let unknown: readonly ConfigPath[] | undefined;
  for (const write of recent.toReversed()) {
    for (const path of write.paths) touched.set(joinConfigPath(path.scope, path.field), path);
    const paths = [...touched.values()];
    if (!paths.every(path => isAsIn(write.before.config, path))) continue;
    if (!paths.every(path => isAsIn(current, path))) unknown = paths;
  }
  if (unknown === undefined) return undefined;
  return applyConfigEdits(
    edit.config,
    unknown.map(path => ({ ...path, value: valueIn(current, path) })),
  );
}

function valueIn(config: Config, { scope, field }: ConfigPath) {
  return configValue(config, scope, field);
}
