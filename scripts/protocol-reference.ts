/**
 * Generates docs/asyncapi.json, the tables of the svc scope in docs/protocol.md and docs/getting-started.md, and that of HTTP statuses, from
 * the schemas in the code; with --check, only compares and exits with code 1 if one of them is out of date.
 */
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { statuses, statusesByCause } from "../main/daemon/http/statuses.ts";
import { argumentSchemas } from "../main/daemon/socket/argument-schemas.ts";
import packageJson from "../package.json" with { type: "json" };
import { type ErrorCode, errorNames } from "../shared/errors.ts";
import { isJsonObject } from "../shared/json.ts";
import type { OperationName } from "../shared/protocol.ts";
import type { FieldSchema } from "../shared/scopes/scope-schema.ts";
import { svcSchema } from "../shared/scopes/svc.ts";

const documents = resolve(import.meta.dirname, "../docs");
const events = [
  "config/changed",
  "config/progress",
  "config/position",
  "repo/added",
  "repo/updated",
  "repo/removed",
  "repo/health",
  "scope/changed",
  "key/changed",
  "draft/changed",
  "daemon/problems",
  "daemon/indexing",
];

function asyncApi(): object {
  const messages: { [name: string]: object } = {};
  const operations: { [name: string]: object } = {};
  const names = Object.keys(argumentSchemas) as OperationName[];
  const id = (name: string) => name.replace("/", "_");
  for (const name of names) {
    const [resource, operation] = name.split("/");
    messages[id(name)] = {
      name,
      summary: `socket.emit("svc", "${resource}", "${operation}", args, callback)`,
      payload: {
        type: "array",
        prefixItems: [{ const: resource }, { const: operation }, argumentSchemas[name]],
        minItems: 2,
      },
    };
    operations[id(name)] = {
      action: "receive",
      channel: { $ref: "#/channels/svc" },
      messages: [{ $ref: `#/channels/svc/messages/${id(name)}` }],
      reply: { channel: { $ref: "#/channels/svc" }, messages: [{ $ref: "#/channels/svc/messages/reply" }] },
    };
  }
  const reply = {
    name: "reply",
    summary: "The only argument of every callback",
    payload: { $ref: "#/components/schemas/reply" },
  };
  for (const name of events) {
    const [resource, event] = name.split("/");
    messages[`event_${id(name)}`] = {
      name,
      summary: `socket.on("svc", (resource, event, payload) => ...), for connections that watch`,
      payload: { type: "array", prefixItems: [{ const: resource }, { const: event }, { type: "object" }], minItems: 3 },
    };
  }
  operations["events"] = {
    action: "send",
    channel: { $ref: "#/channels/svc" },
    messages: events.map(name => ({ $ref: `#/channels/svc/messages/event_${id(name)}` })),
  };
  return {
    asyncapi: "3.0.0",
    info: {
      title: "Repoconf",
      version: packageJson.version,
      description: "The operations and events of the daemon; protocol.md explains them.",
    },
    servers: {
      local: {
        host: "127.0.0.1:7420",
        protocol: "socket.io",
        description: "The address is in daemon.json in the home; the port is another one if 7420 is in use.",
        security: [{ $ref: "#/components/securitySchemes/apiKey" }],
      },
    },
    channels: { svc: { address: "svc", title: "The Socket.IO event of this name", messages: { ...messages, reply } } },
    operations,
    components: {
      securitySchemes: { apiKey: { type: "http", scheme: "bearer", description: "Or auth.apiKey in the handshake" } },
      schemas: {
        reply: {
          type: "object",
          properties: {
            result: {},
            errors: { type: "array", items: { $ref: "#/components/schemas/error" } },
            revision: { type: "integer" },
            next: { type: "string" },
            repo: { type: "string" },
          },
          required: ["result", "errors"],
        },
        error: {
          type: "object",
          properties: {
            code: { enum: Object.keys(errorNames).map(Number) },
            name: { type: "string" },
            message: { type: "string" },
            repo: { type: "string" },
            field: { type: "string" },
            details: { type: "object" },
          },
          required: ["code", "name", "message"],
        },
      },
    },
  };
}

function svcTable(): string {
  const rows = Object.entries(svcSchema.properties).map(([name, property]) => {
    const schema: FieldSchema = property;
    return `| \`${name}\` | ${String(schema["type"])} | ${limitsOf(schema)} | \`${JSON.stringify(schema.default)}\` |`;
  });
  return ["| field | type | limits | default |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

/** What each field is for, in words, for people who have never heard of the scope. */
function svcMeanings(): string {
  const rows = Object.entries(svcSchema.properties).map(
    ([name, { description, default: value }]) => `| \`svc.${name}\` | ${description} | \`${JSON.stringify(value)}\` |`,
  );
  return ["| field | what it says | default |", "| --- | --- | --- |", ...rows].join("\n");
}

function limitsOf(schema: FieldSchema): string {
  const { minimum, maximum, maxLength, pattern, description, items, enum: choices } = schema;
  const parts: string[] = [];
  if (Array.isArray(choices)) parts.push(choices.map(choice => `\`${JSON.stringify(choice)}\``).join(", "));
  if (minimum !== undefined) parts.push(`${String(minimum)} to ${String(maximum)}`);
  if (schema["x-unit"] !== undefined) parts.push(schema["x-unit"]);
  if (schema["x-labels"] !== undefined) parts.push(schema["x-labels"].join(", "));
  if (schema["x-keyOf"] !== undefined) parts.push(`\`""\` or a key of \`${schema["x-keyOf"]}\``);
  if (maxLength !== undefined) parts.push(`up to ${Number(maxLength).toLocaleString("en")} characters`);
  // The description of a field says in words what its pattern accepts.
  if (pattern !== undefined) parts.push(String(description));
  if (isJsonObject(items))
    parts.push(
      isJsonObject(items["properties"])
        ? `of \`{ ${Object.keys(items["properties"]).join(", ")} }\``
        : "of strings, not empty",
    );
  if (schema["uniqueItems"] === true) parts.push("each once");
  if (Array.isArray(schema["uniqueItemProperties"]))
    parts.push(`each ${schema["uniqueItemProperties"].join(", ")} once`);
  const values = schema["additionalProperties"];
  if (isJsonObject(values) && isJsonObject(values["properties"]))
    parts.push(`name to \`{ ${Object.keys(values["properties"]).join(", ")} }\`, all required`);
  if (schema["x-masked"]) parts.push("masked");
  if (schema["x-command"]) parts.push("[a command](#trust)");
  return parts.join("; ");
}

/** The statuses of one-shot requests, with the codes of their errors. */
function statusTable(): string {
  const byCode = Object.entries(statuses).map(([code, status]) => ({ code: Number(code) as ErrorCode, status }));
  const rows = [...Map.groupBy(byCode, one => one.status)].map(([status, codes]) => ({
    status,
    when: codes.map(({ code }) => `${code} ${errorNames[code]}`).join(", "),
  }));
  for (const [status, { code, cause }] of Object.entries(statusesByCause))
    rows.push({ status: Number(status), when: `${code} ${errorNames[code]}: ${cause}` });
  const lines = rows.sort((one, other) => one.status - other.status).map(one => `| ${one.status} | ${one.when} |`);
  const ran = "| 200 | the operation ran; `errors` names what it refused |";
  return ["| status | `errors` |", "| --- | --- |", ran, ...lines].join("\n");
}

/** The text with a table between the comments that name it. */
function withTable(text: string, name: string, table: string): string {
  const [begin, end] = [`<!-- ${name} begin -->`, `<!-- ${name} end -->`];
  return `${text.slice(0, text.indexOf(begin))}${begin}\n\n${table}\n\n${text.slice(text.indexOf(end))}`;
}

const protocol = await readFile(resolve(documents, "protocol.md"), "utf8");
const gettingStarted = await readFile(resolve(documents, "getting-started.md"), "utf8");
const wanted: { readonly [file: string]: string } = {
  "asyncapi.json": `${JSON.stringify(asyncApi(), null, 2)}\n`,
  "getting-started.md": withTable(gettingStarted, "svc meanings", svcMeanings()),
  "protocol.md": withTable(withTable(protocol, "svc fields", svcTable()), "statuses", statusTable()),
};
for (const [file, text] of Object.entries(wanted)) {
  const path = resolve(documents, file);
  if ((await readFile(path, "utf8").catch(() => "")) === text) continue;
  if (process.argv.includes("--check")) {
    process.stderr.write(`docs/${file} is not what the code says. Run: npm run docs\n`);
    process.exitCode = 1;
  } else {
    await writeFile(path, text);
  }
}
