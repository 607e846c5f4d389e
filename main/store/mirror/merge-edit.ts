import { applyConfigEdits, type Config, type ConfigEdit, configValue } from "../../../shared/config.ts";
import { type ConfigPath, joinConfigPath } from "../../../shared/config-path.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import type { Scopes } from "../../scopes/scopes.ts";
import { valueByAnyName, writingNewNames } from "../values/renamed-fields.ts";

/** What an edit by hand and the sets that its author did not know of make together. */
export interface KeptSets {
  /** The fields that the edit left alone, under today's names, with their values in the text. */
  readonly untouched: readonly ConfigEdit[];
  /** What the text lacks in these fields. */
  readonly edits: readonly ConfigEdit[];
}

/**
 * Compares a text that somebody else wrote, while the daemon runs as after a start. `fields`: those that changed since the file had the
 * values `earlier`, of which it may not be known which it had. One that has such a value, or another that `mayHave` tells, was left
 * alone and is to have the value in `wanted`. Old and new names of a field count as the same field.
 */
export function keepSets(
  text: Config,
  wanted: Config,
  fields: readonly ConfigPath[],
  earlier: readonly Config[],
  scopes: Scopes,
  mayHave: (path: ConfigPath, value: JsonValue | undefined) => boolean = () => false,
): KeptSets {
  const anyNameIn = (config: Config, path: ConfigPath) => valueByAnyName(config, path, scopes);
  const paths = fields.map(({ scope, field }) => ({ scope, field: scopes.newName(scope, field) ?? field }));
  const unique = new Map(paths.map(path => [joinConfigPath(path.scope, path.field), path]));
  const untouched = [...unique.values()]
    .map(path => ({ ...path, value: anyNameIn(text, path) }))
    .filter(path => mayHave(path, path.value) || earlier.some(config => sameJson(path.value, anyNameIn(config, path))));
  const missing = untouched
    .map(path => ({ ...path, value: anyNameIn(wanted, path) }))
    .filter(path => !sameJson(path.value, anyNameIn(text, path)));
  return { untouched, edits: writingNewNames(missing, text, scopes) };
}

/** A text of the file, and its values. */
interface FileText {
  readonly textHash: string;
  readonly config: Config;
}

/** A recent write by the daemon: the file before and after, and the changed fields. */
interface RecentWrite {
  /** Milliseconds, by the clock's `monotonic()`. */
  readonly at: number;
  readonly before: FileText;
  readonly after: FileText;
  readonly paths: readonly ConfigPath[];
}

/** Milliseconds after a write during which a hand edit may be based on the text before it. */
export const staleEditAge = 2_000;

/** The daemon's own writes on which an edit may not be based yet. */
export class RecentWrites {
  #writes: readonly RecentWrite[] = [];

  add(write: RecentWrite): void {
    this.dropOld(write.at);
    this.#writes = [...this.#writes, write];
  }

  /** `now`: by the clock's `monotonic()`. */
  dropOld(now: number): void {
    this.#writes = this.#writes.filter(({ at }) => at >= now - staleEditAge);
  }

  /** Excludes fields that a person changed from later merges, which would restore them. Without paths, excludes all fields. */
  forget(paths?: readonly ConfigPath[]): void {
    const changed = new Set(paths?.map(({ scope, field }) => joinConfigPath(scope, field)));
    const isKept = ({ scope, field }: ConfigPath) => !changed.has(joinConfigPath(scope, field));
    this.#writes = paths === undefined ? [] : this.#writes.map(one => ({ ...one, paths: one.paths.filter(isKept) }));
  }

  /**
   * Merges the edit of a program that read the file, changed it and wrote it back while sets were written: the result has the program's
   * changes and the sets. Undefined for an ordinary edit, which is applied as it is. Since this is a guess, two conditions must hold:
   * the text is none of the recent ones (that would be a revert), and every field set since some moment has its value of that moment.
   * If this is true for several moments, the earliest counts, so that no set is reverted that the program did not know of. `target`: the
   * values that the file is to have, which may be newer than those of the last write.
   */
  merge(edit: FileText, target: Config): Config | undefined {
    const recent = this.#writes;
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
      paths.map(path => ({ ...path, value: valueIn(target, path) })),
    );
  }
}

function valueIn(config: Config, { scope, field }: ConfigPath) {
  return configValue(config, scope, field);
}
