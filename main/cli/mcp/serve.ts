import {
  fromJsonSchema,
  type JsonSchemaType,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import packageJson from "../../../package.json" with { type: "json" };
import { isJsonObject, type JsonObject } from "../../../shared/json.ts";
import { printNote } from "../output/terminal.ts";
import { type Call, inCall, type ServeOptions } from "./call.ts";
import { resources } from "./resources.ts";
import { type AgentTool, checkArguments, readTools, writeTools } from "./tools.ts";

const instructions =
  "Configuration of the repository that you work in. Values that are masked are not for you: ask the person, do not look for them elsewhere.";

/** Serves until the client ends the input; to clients of the protocol 2025-06-18 and of 2026-07-28. */
export function serve(options: ServeOptions): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // An input that is a file, such as /dev/null, ends without being closed.
  for (const end of ["end", "close"]) process.stdin.once(end, resolve);
  const tools = options.write ? [...readTools, ...writeTools] : readTools;
  serveStdio(() => createServer(options, tools), { onerror: error => printNote(`repoconf mcp: ${error.message}`) });
  return promise;
}

function createServer(options: ServeOptions, tools: readonly AgentTool[]): McpServer {
  const server = new McpServer(
    { name: "repoconf", version: packageJson.version },
    // Both lists stay as they are.
    { instructions, capabilities: { tools: { listChanged: false }, resources: { listChanged: false } } },
  );
  for (const tool of tools) {
    const { name, description, inputSchema } = tool;
    const annotations = { readOnlyHint: readTools.includes(tool), openWorldHint: false };
    server.registerTool(name, { description, inputSchema: anyArguments(inputSchema), annotations }, async (args, ctx) =>
      asResult(await runTool(tool, args, options, ctx.mcpReq.signal)),
    );
  }
  for (const { uri, name, description, read } of resources)
    server.registerResource(name, uri, { description, mimeType: "application/json" }, async (_, ctx) => {
      const value = await inCall(options, ctx.mcpReq.signal, read);
      const text = JSON.stringify(value);
      if ("errors" in value) throw new ProtocolError(ProtocolErrorCode.InternalError, text);
      return { contents: [{ uri, mimeType: "application/json", text }] };
    });
  return server;
}

async function runTool(
  tool: AgentTool,
  args: unknown,
  options: ServeOptions,
  signal: AbortSignal,
): Promise<JsonObject> {
  const given = isJsonObject(args) ? args : {};
  return inCall(options, signal, (call: Call) => {
    checkArguments(tool, given);
    return tool.run(call, given);
  });
}

/** The schema as clients see it. Arguments are checked by the call, whose errors have codes. */
function anyArguments(schema: AgentTool["inputSchema"]) {
  return fromJsonSchema(schema as unknown as JsonSchemaType, {
    getValidator: () => input => ({ valid: true, data: input as never, errorMessage: undefined }),
  });
}

/** The same as text and as structured content. */
function asResult(value: JsonObject) {
  const content = [{ type: "text" as const, text: JSON.stringify(value) }];
  return { content, structuredContent: value, ...("errors" in value && { isError: true }) };
}
