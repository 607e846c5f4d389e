import type { JsonValue } from "../../../shared/json.ts";
import { rawValue } from "../../../shared/typed-value.ts";
import { CommandError } from "./exit-codes.ts";
import { printJson, printValue } from "./terminal.ts";

export interface ReadValues {
  /** In the order of the arguments. */
  readonly values: readonly (readonly [name: string, value: JsonValue])[];
  readonly revision: number;
}

/** What `get` prints. Throws CommandError. */
export function printValues(
  { values, revision }: ReadValues,
  options: { readonly json?: boolean; readonly withRevision?: boolean },
): void {
  const [[, value] = ["", null], ...more] = values;
  const broken = options.json ? undefined : values.find(([, one]) => !rawValue(one).isWellFormed());
  if (broken !== undefined)
    throw new CommandError(
      `The value of ${broken[0]} contains half of a character (a lone surrogate), which cannot be printed. Read it with --json.`,
    );
  if (more.length > 0) {
    const all = Object.fromEntries(values);
    if (options.json) {
      printJson(options.withRevision ? { revision, values: all } : all);
      return;
    }
    const several = values.find(([, one]) => /[\r\n]/.test(rawValue(one)));
    if (several !== undefined)
      throw new CommandError(`The value of ${several[0]} has several lines. Read it on its own, or with --json.`);
    if (options.withRevision) printValue(String(revision));
    for (const [, one] of values) printValue(rawValue(one));
  } else if (options.json) printJson(options.withRevision ? { revision, value } : value);
  else printValue(options.withRevision ? `${revision} ${rawValue(value)}` : rawValue(value));
}
