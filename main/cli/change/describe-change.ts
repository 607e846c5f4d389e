import { joinConfigPath } from "../../../shared/config-path.ts";
import { type ChangeEntries, nameRevisions } from "../../../shared/history-changes.ts";
import { type JsonValue, sameJson } from "../../../shared/json.ts";
import type { FieldChange, HistoryEntry } from "../../../shared/protocol.ts";
import { type Fields, mask, showValue } from "../connect/fields.ts";
import { style } from "../output/terminal.ts";

export interface DescribeOptions {
  readonly fields: Fields;
  /** Whether masked values are shown. */
  readonly reveal: boolean;
}

export const forgottenMark = "(forgotten)";

/** The lines that `watch` and `history` print for a change. `name` is the repository's, if several are shown. */
export function describeChange(change: ChangeEntries<HistoryEntry>, options: DescribeOptions, name?: string): string[] {
  const [newest, ...older] = change;
  const { time, reason, source, field } = newest;
  const of = name === undefined ? "" : `${name}  `;
  const why = reason === undefined ? "" : `: ${reason}`;
  const isPart = older.length === 0 && newest.together !== undefined;
  const also = isPart ? `, one change with revision ${newest.together}` : "";
  const own = older.length === 0 ? describeLayer(newest) : "";
  const head = `${time}  ${of}${style("yellow", nameRevisions(change))}${also}${own}  ${describeAuthor(newest)}${why}`;
  if (source === "forget") return [head, `  ${field}: older values erased`];
  const lines = change.toReversed().flatMap(entry => {
    const layer = older.length === 0 ? "" : describeLayer(entry);
    return Object.entries(entry.changes).flatMap(([scope, values]) =>
      Object.entries(values).map(
        ([one, changed]) => `${describeField(joinConfigPath(scope, one), changed, options, entry.layer)}${layer}`,
      ),
    );
  });
  if (lines.length > 0) return [head, ...lines];
  return [head, source === "recovery" ? "  values as in the file; earlier changes unknown" : "  nothing was stored"];
}

function describeLayer({ layer }: HistoryEntry): string {
  return layer === "local" ? "  (local)" : layer === "base" ? "  (local, of the main work tree)" : "";
}

/** Who made a change and how. */
export function describeAuthor({
  revision,
  actor,
  source,
  machine,
}: Pick<HistoryEntry, "revision" | "actor" | "source" | "machine">): string {
  // Decided by the source, because a key can have any name, even "file".
  const where = machine === undefined ? "" : ` on ${machine}`;
  if (source === "file") return `${revision === 1 ? "from the existing file" : "by hand"}${where}`;
  if (source === "merge") return `by hand${where}, merged with sets made at the same time`;
  if (source === "recovery") return `by a start after records were lost${where}: what changed is not known`;
  return `by ${actor}${where} (${source})`;
}

/** The indented line for one field of a change. */
export function describeField(
  path: string,
  change: FieldChange,
  { fields, reveal }: DescribeOptions,
  layer: HistoryEntry["layer"] = "shared",
): string {
  const { value, previous, stored, forgotten, masked } = change;
  const isShared = layer === "shared";
  // Without a local value, the one of the layer below counts.
  const mark = stored ? "" : isShared ? " (default)" : " (no local value)";
  if (masked) return `  ${path}: ${mask} (this key may not see it)${mark}`;
  const schema = fields.get(path);
  // A place inside a value may not exist before or after a change.
  const show = (shown: JsonValue | undefined) => (shown === undefined ? "(none)" : showValue(shown, schema, reveal));
  if (forgotten) return `  ${path}: ${forgottenMark} -> ${stored ? show(value) : forgottenMark}`;
  if (sameJson(value, previous)) {
    const isDefault = sameJson(value ?? null, schema?.default ?? null);
    return `  ${path}: ${show(value)} (${describeSame(stored, isShared, isDefault)})`;
  }
  return `  ${path}: ${showDifference(show(previous), `${show(value)}`, mark)}`;
}

/** What a change did after which the same value counts; a secret's may be one that was stored before, too. */
function describeSame(stored: boolean, isShared: boolean, isDefault: boolean): string {
  if (!stored) return isShared ? "no longer stored, equal to the default" : "no longer local, the same value counts";
  if (!isShared) return "local, the same value as before";
  return isDefault ? "now stored, equal to the default" : "set again, the same value";
}

/** A changed value before and after, as shown; masked values may look equal. */
export function showDifference(before: string, after: string, mark = ""): string {
  return `${before} -> ${after}${mark}${before === after ? " (the masked value differs)" : ""}`;
}
