import { applyConfigEdits, type Config, configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { sameJson } from "../../../shared/json.ts";

/** A write of ours that went by a moment ago: what the file held before and after, and which fields that changed. */
export interface RecentWrite {
  /** Milliseconds, as `performance.now()` has them. */
  readonly at: number;
  readonly before: { readonly textHash: string; readonly config: Config };
  readonly after: { readonly textHash: string; readonly config: Config };
  readonly paths: readonly ConfigPath[];
}

/** How long ago, in milliseconds, a write may be that a hand edit is taken not to have known of. */
export const staleEditAge = 2_000;

/**
 * What a file should hold if a program has read it, changed it and written it back while sets went by: its changes, and
 * the sets'. Undefined if it is an edit like any other, which is taken as it stands. It is a guess, so all must hold: the
 * text is none that was there a moment ago (that is a revert); the fields of the sets since some moment are as they were
 * before them, so it did not know of those; and those of the sets before that moment are as they are now, so it knew them.
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
  const reverted = new Set<string>();
  for (const path of recent.flatMap(({ paths }) => paths)) if (!isAsIn(current, path)) reverted.add(nameOf(path));
  if (reverted.size === 0) return undefined;
  /** The fields of the sets since the moment looked at. */
  const unknown = new Map<string, ConfigPath>();
  for (const write of recent.toReversed()) {
    for (const path of write.paths) {
      unknown.set(nameOf(path), path);
      reverted.delete(nameOf(path));
    }
    const paths = [...unknown.values()];
    if (reverted.size > 0 || !paths.every(path => isAsIn(write.before.config, path))) continue;
    return applyConfigEdits(
      edit.config,
      paths.map(path => ({ ...path, value: valueIn(current, path) })),
    );
  }
  return undefined;
}

function nameOf({ scope, field }: ConfigPath): string {
  return joinConfigPath(scope, field);
}

function valueIn(config: Config, { scope, field }: ConfigPath) {
  return configValue(config, scope, field);
}
