import type { Command } from "commander";
import { expect, test } from "vitest";
import { leadingOptions, startFolderOption } from "../../../main/cli/command-options.ts";
import { valuedLeadingOptions } from "../../../main/cli/command-place.ts";
import { createProgram } from "../../../main/cli/program.ts";

function withInner(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withInner)];
}

test.each([60, 80])("in a terminal of %i columns, no line of any command's help is wider", async width => {
  const commands = withInner(await createProgram());
  expect(commands.length).toBeGreaterThan(40);
  const wide = commands.flatMap(command => {
    command.configureHelp({ ...command.configureHelp(), helpWidth: width });
    const lines = command.helpInformation().split("\n");
    return lines.filter(line => line.length > width).map(line => `${command.name()}: ${line}`);
  });
  expect(wide).toEqual([]);
});

test("the entry finds the name of a command behind every option that may precede it", () => {
  const valued = [startFolderOption, ...leadingOptions()].filter(option => option.required);
  expect(valued.map(({ long, short }) => long ?? short)).toEqual(valuedLeadingOptions);
});
