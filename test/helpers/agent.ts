import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport, type StdioServerParameters } from "@modelcontextprotocol/client/stdio";
import type { CommandHome } from "./command-home.ts";
import { cleanEnvironment, repoconfCommand } from "./spawned-daemon.ts";

/** Both protocols that clients speak: that of 2025, which begins with `initialize`, and that of 2026, with `server/discover`. */
export const eras: readonly (readonly [version: string, options: ClientOptions])[] = [
  ["2025-06-18", { supportedProtocolVersions: ["2025-06-18"] }],
  ["2026-07-28", { versionNegotiation: { mode: { pin: "2026-07-28" } } }],
];

/** Keeps every message. */
class RecordedTransport extends StdioClientTransport {
  readonly transcript: string[] = [];

  constructor(server: StdioServerParameters) {
    super(server);
    this.stderr?.on("data", (part: Buffer) => this.transcript.push(`! ${part.toString()}`));
    // The client calls this one and its own, also where it first finds out about the server's protocol.
    this.onmessage = message => this.transcript.push(`< ${JSON.stringify(message)}`);
  }

  override send(message: Parameters<StdioClientTransport["send"]>[0]): Promise<void> {
    this.transcript.push(`> ${JSON.stringify(message)}`);
    return super.send(message);
  }
}

/** The official client, with `repoconf mcp ARGS` as its server. */
export async function startAgent(
  home: Pick<CommandHome, "homeFolder" | "workFolder">,
  args: readonly string[],
  options = eras[1]?.[1],
  folder = home.workFolder,
) {
  const transport = new RecordedTransport({
    command: process.execPath,
    args: [repoconfCommand, "mcp", ...args],
    cwd: folder,
    env: { ...(cleanEnvironment() as { [name: string]: string }), REPOCONF_HOME: home.homeFolder },
    stderr: "pipe",
  });
  const client = new Client({ name: "test", version: "1.0.0" }, options);
  await client.connect(transport);
  return {
    client,
    /** Every message in both directions, and what the server wrote to standard error. */
    transcript: transport.transcript as readonly string[],
    /** What a tool answers. The same must stand there as text. */
    call: async (name: string, given: { readonly [argument: string]: unknown } = {}, signal?: AbortSignal) => {
      const result = await client.callTool({ name, arguments: given }, signal && { signal });
      const [content] = result.content;
      const text = content?.type === "text" ? content.text : "";
      if (JSON.stringify(result.structuredContent) !== text) throw new Error(`${text} is not the structured content`);
      return { ...JSON.parse(text), isError: result.isError === true };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
