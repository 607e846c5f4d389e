import type { Command } from "commander";
import { addHomeOption, addJsonOption, type OutputOptions } from "../command-options.ts";

/** `repoconf settings`: shows the daemon's settings and their file. Needs no daemon. */
export function addSettingsCommand(program: Command): void {
  addJsonOption(addHomeOption(program.command("settings")))
    .description("show the daemon's settings and where their file is")
    .action(settings);
}

async function settings(options: OutputOptions & { readonly home?: string }): Promise<void> {
  const [
    { readSettings, settingsSchema },
    { homeOf },
    { CommandError },
    { describeCause },
    { print, printJson, printTable },
  ] = await Promise.all([
    import("../../home/settings.ts"),
    import("../connect/session.ts"),
    import("../output/exit-codes.ts"),
    import("../../files/describe-cause.ts"),
    import("../output/terminal.ts"),
  ]);
  const home = homeOf(options);
  const { settingsFile } = home;
  const found = await readSettings(home).catch(error => {
    throw new CommandError(`${settingsFile}: ${describeCause(error)}`);
  });
  const values = found ?? {};
  if (options.json) return printJson({ file: settingsFile, settings: values });
  print(`${settingsFile}${found === undefined ? " (does not exist: every setting has its default)" : ""}`);
  const rows = Object.entries(settingsSchema.properties)
    .filter(([name]) => name !== "$schema")
    .map(([name, schema]) => {
      const value = Object.entries(values).find(([set]) => set === name)?.[1];
      return [
        name,
        value === undefined ? "not set" : JSON.stringify(value),
        "description" in schema ? schema.description : "",
      ];
    });
  printTable(["SETTING", "VALUE", "DESCRIPTION"], rows);
}
