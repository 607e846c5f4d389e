import { configEntries, pathsIn } from "../../../shared/config.ts";
import type { JsonValue } from "../../../shared/json.ts";
import { readAt, readPlace } from "../change/value-place.ts";
import type { GetOptions } from "../commands/get.ts";
import { refuseHidden, refuseMasked } from "../output/masking.ts";
import { printValues } from "../output/values.ts";
import { askAbout, fieldsOf } from "./ask-daemon.ts";

/** `repoconf get`. */
export async function get(names: readonly string[], options: GetOptions): Promise<boolean> {
  const [only = "", ...more] = names;
  const isField = more.length === 0 && /^[^."[]+\.[^."[]+$/.test(only);
  // With `waits`, the daemon reads the file first: a script may have checked out another branch a moment ago.
  const args = { ...(isField && { field: only }), schemas: true, waits: true };
  const reply = await askAbout("config/list", args, options);
  if (reply === undefined || reply.errors.length > 0) return false;
  const { result: config, revision = 0, masked = [] } = reply;
  const fields = fieldsOf(reply);
  let values: readonly (readonly [name: string, value: JsonValue])[];
  try {
    const places = isField ? [] : names.map(name => readPlace(name, fields));
    refuseHidden(isField ? masked : masked.filter(path => places.some(({ field }) => field === path)));
    if (!options.reveal) refuseMasked(isField ? pathsIn(config) : places.map(({ field }) => field), fields);
    values = isField
      ? Array.from(configEntries(config), ({ value }) => [only, value])
      : places.map((place, index) => [names[index] ?? "", readAt(config, place, names[index] ?? "", fields)]);
  } catch {
    // Nothing was printed: the long way knows better what to say, as it knows the health of the repository.
    return false;
  }
  printValues({ values, revision }, options);
  return true;
}
