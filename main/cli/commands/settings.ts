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
    { parseSettings, settingsSchema },
    { privateFile },
    { homeOf },
    { CommandError },
    { print, printJson, printTable },
  ] = await Promise.all([
    import("../../home/settings.ts"),
    import("../../home/prepare-home.ts"),
    import("../connect/session.ts"),
    import("../output/exit-codes.ts"),
    import("../output/terminal.ts"),
  ]);
  const home = homeOf(options);
  const { settingsFile } = home;
  let text: string | null;
  let values: ReturnType<typeof parseSettings>;
  try {
    text = await privateFile(home, settingsFile).read();
    values = text === null ? {} : parseSettings(text);
  } catch (error) {
    throw new CommandError(`${settingsFile}: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (options.json) return printJson({ file: settingsFile, settings: values });
  print(`${settingsFile}${text === null ? " (does not exist: every setting has its default)" : ""}`);
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
