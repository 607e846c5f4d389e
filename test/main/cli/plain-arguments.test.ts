import { Command } from "commander";
import { expect, test } from "vitest";
import { addOptions } from "../../../main/cli/command-options.ts";
import { readPlainly } from "../../../main/cli/one-shot/plain-arguments.ts";
import {
  changeValuesRows,
  describeRows,
  envRows,
  getRows,
  historyRows,
  listRows,
  type OptionRow,
  runRows,
} from "../../../main/cli/options.ts";
import { randomNumbers } from "../../helpers/random.ts";

/** What commander makes of the arguments; undefined if it refuses them. */
function byCommander(args: readonly string[], rows: readonly OptionRow[], endsAtOperand: boolean) {
  const command = addOptions(new Command("x").argument("[operands...]"), rows)
    .exitOverride()
    .configureOutput({ writeErr: () => {}, writeOut: () => {} })
    .action(() => {});
  // As the program does, which has options of its own before the command's name.
  const program = new Command().exitOverride().enablePositionalOptions().addCommand(command);
  command.passThroughOptions(endsAtOperand);
  try {
    program.parse(["x", ...args], { from: "user" });
    return { operands: command.args, options: command.opts() };
  } catch {
    return undefined;
  }
}

const words = ["svc.timeout=30", "a", "-", "--", "7", "x", "", "=", "-1", "-h", "--help", "--unknown", "--=", "---"];

/** Every option, and wrong ways to write it. */
function waysToWrite({ flags, choices }: OptionRow): readonly string[] {
  const name = /--[\w-]+/.exec(flags)?.[0] ?? "";
  return [name, name, `${name}=12`, `${name}=`, `${name}=a=b`, ...(choices ?? []).map(choice => `${name}=${choice}`)];
}

test.each<[name: string, rows: readonly OptionRow[], endsAtOperand: boolean]>([
  ["get", getRows, false],
  ["set", changeValuesRows, false],
  ["list", listRows, false],
  ["history", historyRows, false],
  ["env", envRows, false],
  ["describe", describeRows, false],
  ["run", runRows, true],
])("the short way reads arguments of %s as commander does, or not at all", (_name, rows, endsAtOperand) => {
  const random = randomNumbers(38);
  const all = [...words, ...words, ...rows.flatMap(waysToWrite)];
  let read = 0;
  for (let round = 0; round < 3_000; round += 1) {
    const args = Array.from({ length: random(5) }, () => all[random(all.length)] ?? "");
    const plain = readPlainly(args, rows, endsAtOperand);
    if (plain === undefined) continue;
    read += 1;
    expect(plain, args.join(" ")).toEqual(byCommander(args, rows, endsAtOperand));
  }
  expect(read).toBeGreaterThan(300);
});
