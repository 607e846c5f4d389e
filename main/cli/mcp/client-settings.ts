import type { RepositoryEntry } from "../../../shared/protocol.ts";
import { shellQuoted } from "../../../shared/shell-quoted.ts";

export const agentPrograms = ["claude", "codex", "vscode", "cursor"] as const;
export type AgentProgram = (typeof agentPrograms)[number];

interface Settings {
  /** Where the lines go. */
  readonly note: string;
  readonly lines: readonly string[];
}

/** The settings with which a program starts this command as a server, in the program's own form. */
export function settingsFor(
  program: AgentProgram,
  [command = "", ...args]: readonly string[],
  { name }: RepositoryEntry,
): Settings {
  const json = (value: object) => JSON.stringify(value, null, 2).split("\n");
  switch (program) {
    case "claude":
      return {
        note: `For Claude Code, run this in the folder of ${name}:`,
        lines: [["claude mcp add repoconf --", ...[command, ...args].map(shellQuoted)].join(" ")],
      };
    case "codex":
      return {
        note: `For Codex, add this to .codex/config.toml in the folder of ${name}. It is about this machine, so keep it out of git:`,
        // A text of TOML has the escapes of JSON.
        lines: ["[mcp_servers.repoconf]", `command = ${JSON.stringify(command)}`, `args = ${JSON.stringify(args)}`],
      };
    case "vscode":
      return {
        note: `For VS Code, add this to .vscode/mcp.json in the folder of ${name}. It is about this machine, so keep it out of git:`,
        lines: json({ servers: { repoconf: { type: "stdio", command, args } } }),
      };
    case "cursor":
      return {
        note: `For Cursor, add this to .cursor/mcp.json in the folder of ${name}. It is about this machine, so keep it out of git:`,
        lines: json({ mcpServers: { repoconf: { command, args } } }),
      };
  }
}
