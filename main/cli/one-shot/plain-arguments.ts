import { parseArgs } from "node:util";
import type { OptionRow } from "../options.ts";

export interface PlainArguments {
  /** The arguments that are no options. */
  readonly operands: readonly string[];
  /** By the names and with the values that commander would give them. */
  readonly options: { readonly [name: string]: unknown };
}

/**
 * Reads the arguments of a command that are surely meant as commander would read them. Undefined if there is anything to say about them, such
 * as a mistake or a question for help: commander says it. With `endsAtOperand`, options after the first operand belong to it.
 */
export function readPlainly(
  args: readonly string[],
  rows: readonly OptionRow[],
  endsAtOperand = false,
): PlainArguments | undefined {
  const known = new Map(rows.map(row => [/--([\w-]+)/.exec(row.flags)?.[1] ?? "", row]));
  const type = ({ flags }: OptionRow) => (flags.includes("<") ? "string" : "boolean");
  const end = endsAtOperand ? endOfOptions(args, known) : args.length;
  try {
    const { values, positionals } = parseArgs({
      args: args.slice(0, end),
      options: Object.fromEntries([...known].map(([name, row]) => [name, { type: type(row), multiple: true }])),
      allowPositionals: true,
    });
    const options: { [name: string]: unknown } = {};
    for (const [name, { choices }] of known) {
      if (name.startsWith("no-")) options[name.slice(3)] = true;
      if (choices !== undefined) options[name] = choices[0];
    }
    for (const [name, given = []] of Object.entries(values)) {
      const value = valueFrom(given, known.get(name));
      if (value === undefined) return undefined;
      if (name.startsWith("no-")) options[name.slice(3)] = false;
      else options[name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())] = value;
    }
    return { operands: [...positionals, ...args.slice(end)], options };
  } catch {
    return undefined;
  }
}

/** The value of an option that was given like this; undefined if the long way should read it. */
function valueFrom(given: readonly (string | boolean)[], row: OptionRow | undefined): unknown {
  const { takes, choices } = row ?? {};
  const [value, ...more] = given;
  if (given.some(one => typeof one === "string" && one.trim() === "")) return undefined;
  if (takes === "several") return given;
  if (more.length > 0 || (choices !== undefined && !choices.includes(String(value)))) return undefined;
  if (takes !== "revision" && takes !== "limit") return value;
  return /^[1-9]\d{0,8}$/.test(String(value)) ? Number(value) : undefined;
}

/** The index of the first operand, after a `--` before it. */
function endOfOptions(args: readonly string[], known: ReadonlyMap<string, OptionRow>): number {
  let index = 0;
  for (let word = args[0]; word?.startsWith("-"); word = args[index]) {
    index += 1;
    if (word === "--") break;
    if (known.get(word.slice(2))?.flags.includes("<")) index += 1;
  }
  return index;
}
