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
  /** The fields of the sets since that moment, and those of them that the edit has otherwise than they were then, or are now. */
  const touched = new Map<string, ConfigPath>();
  const [otherThen, otherNow] = [new Set<string>(), new Set<string>()];
  const compare = (config: Config, key: string, path: ConfigPath) => {
    if (isAsIn(config, path)) otherThen.delete(key);
    else otherThen.add(key);
  };
  /** So many of the fields, from the first on, are the sets' that the edit did not know of. */
  let unknown = 0;
  let later: RecentWrite | undefined;
  for (const write of recent.toReversed()) {
    const { config } = write.before;
    // What lies between two writes that follow each other is the fields of the first alone.
    if (later !== undefined && later.before.config !== write.after.config)
      for (const [key, path] of touched) compare(config, key, path);
    for (const path of write.paths) {
      const key = joinConfigPath(path.scope, path.field);
      if (!touched.has(key) && !isAsIn(current, path)) otherNow.add(key);
      touched.set(key, path);
      compare(config, key, path);
    }
    later = write;
    if (otherThen.size === 0 && otherNow.size > 0) unknown = touched.size;
  }
  if (unknown === 0) return undefined;
  const paths = [...touched.values()].slice(0, unknown);
  return applyConfigEdits(
    edit.config,
    paths.map(path => ({ ...path, value: valueIn(current, path) })),
  );
}

function valueIn(config: Config, { scope, field }: ConfigPath) {
  return configValue(config, scope, field);
}
