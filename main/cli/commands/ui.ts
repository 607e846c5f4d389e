import type { Command } from "commander";
import { addSessionOptions, type SessionOptions } from "../command-options.ts";

interface UiOptions extends SessionOptions {
  readonly print?: boolean;
  readonly byAddress?: boolean;
}

/** `repoconf ui`: opens the screen in the browser. */
export function addUiCommand(program: Command): void {
  addSessionOptions(program.command("ui"))
    .description("open the screen in the browser")
    .option("--print", "print the link instead; it works once, within a minute")
    .option("--by-address", "for browsers that cannot resolve names ending in .localhost; less secure")
    .action(ui);
}

async function ui(options: UiOptions): Promise<void> {
  const [{ withSession }, { isTerminal, print }, { openPage }, { CommandError }, { mayResolveLocalhostOverNetwork }] =
    await Promise.all([
      import("../connect/session.ts"),
      import("../output/terminal.ts"),
      import("../system/open-page.ts"),
      import("../output/exit-codes.ts"),
      import("../system/localhost-names.ts"),
    ]);
  await withSession(options, async ({ client, home }) => {
    const { url } = await client.run("session/link", {
      byAddress: options.byAddress === true || mayResolveLocalhostOverNetwork(),
    });
    if (options.print) return print(url);
    const opened = await openPage(home, url);
    if (opened) return print("Opening the screen in your browser.");
    // Do not print the link into a log that others may read; --print does so on request.
    if (!isTerminal())
      throw new CommandError("Could not open a browser. To print the link instead: repoconf ui --print");
    print("Could not open a browser. Open this link within a minute:", url);
  });
}
