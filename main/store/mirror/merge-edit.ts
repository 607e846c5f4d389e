import { applyConfigEdits, type Config, configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { sameJson } from "../../../shared/json.ts";

/** A recent write by the daemon: the file before and after, and the changed fields. */
export interface RecentWrite {
  /** Milliseconds, by the clock's `monotonic()`. */
  readonly at: number;
  readonly before: { readonly textHash: string; readonly config: Config };
  readonly after: { readonly textHash: string; readonly config: Config };
  readonly paths: readonly ConfigPath[];
}

/** Milliseconds after a write during which a hand edit may be based on the text before it. */
export const staleEditAge = 2_000;

/**
 * Merges the edit of a program that read the file, changed it and wrote it back while sets were written: the result has the program's
 * changes and the sets. Undefined for an ordinary edit, which is applied as it is. Since this is a guess, two conditions must hold:
 * the text is none of the recent ones (that would be a revert), and every field set since some moment has its value of that moment.
 * If this is true for several moments, the earliest counts, so that no set is reverted that the program did not know of.
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
  /** The fields set since that moment, and those of them whose value in the edit differs from the one at that moment, or now. */
  const touched = new Map<string, ConfigPath>();
  const [otherThen, otherNow] = [new Set<string>(), new Set<string>()];
  const compare = (config: Config, key: string, path: ConfigPath) => {
    if (isAsIn(config, path)) otherThen.delete(key);
    else otherThen.add(key);
  };
  /** How many of the fields, from the first on, belong to sets that the edit did not know of. */
  let unknown = 0;
  let later: RecentWrite | undefined;
  for (const write of recent.toReversed()) {
    const { config } = write.before;
    // Between two consecutive writes only the fields of the first one change.
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
