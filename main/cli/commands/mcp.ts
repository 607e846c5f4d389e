import { type Command, Option } from "commander";
import { addOptions } from "../command-options.ts";
import type { ServeOptions } from "../mcp/call.ts";
import { type AgentProgram, agentPrograms } from "../mcp/client-settings.ts";
import { type OptionRow, repositoryRow, sessionRows } from "../options.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";

interface McpOptions extends ServeOptions {
  readonly setup?: AgentProgram;
}

const keyFileRow: OptionRow = {
  flags: "--key-file <file>",
  description: "read the agent's API key from this file (default: REPOCONF_API_KEY; --setup: else the owner's key)",
};

/** `repoconf mcp`: serves coding agents over standard input and output, by the Model Context Protocol. */
export function addMcpCommand(program: Command): void {
  const rows = sessionRows.map(row => (row.flags.startsWith("--key-file") ? keyFileRow : row));
  addOptions(program.command("mcp"), [...rows, repositoryRow])
    .summary("serve a coding agent (Model Context Protocol), or set one up with a key of its own")
    .description(
      "serve a coding agent over standard input and output (Model Context Protocol)\n\nThe agent's program starts it, with the settings that --setup prints. It needs a key that was made for an agent, and never uses the owner's.",
    )
    .option("--write", "also offer the tools that change values; with --setup, the key may change them")
    .addOption(
      new Option(
        "--setup <program>",
        "make a key for an agent of this repository, valid for 30 days, and print the lines for the program's settings, which contain the key's path but not the key",
      ).choices(agentPrograms),
    )
    .action(run);
}

async function run(options: McpOptions): Promise<void> {
  const { usesOwnerKey } = await import("../connect/session.ts");
  if (options.setup !== undefined) {
    const { setUp } = await import("../mcp/setup.ts");
    return setUp(options.setup, options);
  }
  if (usesOwnerKey(options))
    throw new CommandError(
      "An agent gets a key of its own, never the owner's. To make one: repoconf mcp --setup claude (or codex, vscode, cursor)",
      exitCodes.usage,
    );
  const { serve } = await import("../mcp/serve.ts");
  await serve(options);
}
