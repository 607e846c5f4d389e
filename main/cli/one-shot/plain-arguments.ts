import type { OptionRow } from "../options.ts";

export interface PlainArguments {
  /** The arguments that are no options. */
  readonly operands: readonly string[];
  /** By the names and with the values that commander would give them. */
  readonly options: { readonly [name: string]: unknown };
}

/**
 * Reads the arguments of a command that are surely meant as commander would read them. Undefined if there is anything to say about them, such
 * as a mistake or a question for help: commander says it. With `endsAtOperand`, options after the first operand belong to it. Node's own
 * `parseArgs` takes a millisecond to load, which is a twelfth of a short command's own time.
 */
export function readPlainly(
  args: readonly string[],
  rows: readonly OptionRow[],
  endsAtOperand = false,
): PlainArguments | undefined {
  const known = new Map(rows.map(row => [/--([\w-]+)/.exec(row.flags)?.[1] ?? "", row]));
  const split = splitArguments(args, known, endsAtOperand);
  if (split === undefined) return undefined;
  const options: { [name: string]: unknown } = {};
  for (const [name, { choices }] of known) {
    if (name.startsWith("no-")) options[name.slice(3)] = true;
    if (choices !== undefined) options[name] = choices[0];
  }
  for (const [name, given] of split.given) {
    const value = valueFrom(given, known.get(name));
    if (value === undefined) return undefined;
    if (name.startsWith("no-")) options[name.slice(3)] = false;
    else options[name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())] = value;
  }
  return { operands: split.operands, options };
}

/** The values by option, `true` for one that takes none. Undefined for an option that is not known, in short, or without its value. */
function splitArguments(args: readonly string[], known: ReadonlyMap<string, OptionRow>, endsAtOperand: boolean) {
  const operands: string[] = [];
  const given = new Map<string, (string | true)[]>();
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? "";
    if (arg === "--") return { given, operands: [...operands, ...args.slice(index + 1)] };
    if (!arg.startsWith("-") || arg === "-") {
      if (endsAtOperand) return { given, operands: args.slice(index) };
      operands.push(arg);
      continue;
    }
    const [, name = "", inline] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
    const row = known.get(name);
    if (row === undefined) return undefined;
    let value: string | true | undefined = inline ?? true;
    if (row.flags.includes("<") && inline === undefined) {
      index += 1;
      value = args[index];
      // Probably the value was forgotten.
      if (value === undefined || value.startsWith("-")) return undefined;
    } else if (!row.flags.includes("<") && inline !== undefined) return undefined;
    given.set(name, [...(given.get(name) ?? []), value]);
  }
  return { given, operands };
}

/** The value of an option that was given like this; undefined if the long way should read it. */
function valueFrom(given: readonly (string | true)[], row: OptionRow | undefined): unknown {
  const { takes, choices } = row ?? {};
  const [value, ...more] = given;
  if (given.some(one => typeof one === "string" && one.trim() === "")) return undefined;
  if (takes === "several") return given;
  if (more.length > 0 || (choices !== undefined && !choices.includes(String(value)))) return undefined;
  if (takes !== "revision" && takes !== "limit") return value;
  return /^[1-9]\d{0,8}$/.test(String(value)) ? Number(value) : undefined;
}
