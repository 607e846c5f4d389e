import type { Command } from "commander";
import { addSessionOptions, type SessionOptions } from "./command-options.ts";

interface UiOptions extends SessionOptions {
  readonly print?: boolean;
}

/** `repoconf ui`: the screen in the browser. */
export function addUiCommand(program: Command): void {
  addSessionOptions(program.command("ui"))
    .description("open the screen in the browser")
    .option("--print", "print the link instead; it is good once, for a minute")
    .action(ui);
}

async function ui(options: UiOptions): Promise<void> {
  const [{ withSession }, { print }, { openPage }] = await Promise.all([
    import("./session.ts"),
    import("./terminal.ts"),
    import("./open-page.ts"),
  ]);
  await withSession(options, async ({ client, home }) => {
    const { url } = await client.run("session/link", {});
    if (options.print) return print(url);
    const opened = await openPage(home, url);
    print(
      opened
        ? "The screen opens in your browser."
        : `No browser could be opened. Open this link, within a minute:\n${url}`,
    );
  });
}
