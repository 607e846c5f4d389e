import type { Command } from "commander";
import { addConnectionOptions, addJsonOption, type OutputOptions, type SessionOptions } from "./command-options.ts";

/** `repoconf status`: what the running daemon says of itself. Starts none. */
export function addStatusCommand(program: Command): void {
  addJsonOption(addConnectionOptions(program.command("status")))
    .description("tell how the daemon is")
    .action(status);
}

async function status(options: Omit<SessionOptions, "start"> & OutputOptions): Promise<void> {
  const { withSession } = await import("./session.ts");
  const { print, printJson } = await import("./terminal.ts");
  await withSession({ ...options, start: false }, async ({ client }) => {
    const found = await client.run("daemon/status", {});
    if (options.json) return printJson(found);
    const { version, protocol, startedAt, home, url, pid, repositories, sockets, refusals, problems } = found;
    const lines: readonly (readonly [string, unknown])[] = [
      ["version", `${version} (protocol ${protocol})`],
      ["since", startedAt],
      ["url", url],
      ["home", home],
      ["pid", pid],
      ["repositories", repositories],
      ["clients", sockets],
      [
        "turned away",
        Object.entries(refusals ?? {})
          .map(([cause, count]) => `${count} for the ${cause}`)
          .join(", ") || undefined,
      ],
    ];
    for (const [name, value] of lines) if (value !== undefined) print(`${name.padEnd(13)} ${String(value)}`);
    for (const problem of problems ?? []) print(`problem       ${problem}`);
  });
}
