/**
 * A local tool: lists and sets fields of a repository through the running daemon.
 *
 *   node examples/tool.ts HOME [REPOSITORY]
 *
 * HOME is the folder that `repoconf daemon` prints. Without REPOSITORY, it uses the first repository, or adds one.
 * It needs only socket.io-client, and imports nothing from Repoconf.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { io } from "socket.io-client";

interface Reply {
  readonly result: unknown;
  readonly errors: readonly { readonly code: number; readonly name: string; readonly message: string }[];
}

const [home, wanted] = process.argv.slice(2);
if (home === undefined) throw new Error("Which home? node examples/tool.ts HOME [REPOSITORY]");

const { url } = JSON.parse(readFileSync(join(home, "daemon.json"), "utf8")) as { url: string };
const apiKey = process.env["REPOCONF_API_KEY"] ?? readFileSync(join(home, "owner.key"), "utf8").trim();

const socket = io(url, { auth: { apiKey } });
socket.on("connect_error", error => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});

async function call(resource: string, operation: string, args: object): Promise<Reply> {
  return socket.timeout(5_000).emitWithAck("svc", resource, operation, args);
}

function show(what: string, { result, errors }: Reply): void {
  process.stdout.write(`${what}\n  result ${JSON.stringify(result)}\n`);
  for (const { code, name, message } of errors) process.stdout.write(`  ${code} ${name}: ${message}\n`);
}

async function findRepository(): Promise<string> {
  const { result } = await call("repo", "list", {});
  const [first] = result as { id: string }[];
  if (first !== undefined) return first.id;
  const added = await call("repo", "add", { name: "example" });
  return (added.result as { id: string }).id;
}

const repo = wanted ?? (await findRepository());

show("one field", await call("config", "list", { repo, field: "svc.timeout" }));
show(
  "set several fields",
  await call("config", "set", {
    repo,
    "svc.timeout": 30,
    "svc.services": { web: { ready: "curl -f localhost", image: "nginx:1.27" } },
    "svc.default": "web",
  }),
);
show("a value that the schema refuses", await call("config", "set", { repo, "svc.timeout": "soon" }));
show("a field that does not exist", await call("config", "list", { repo, field: "svc.timeot" }));
show("the whole scope", await call("config", "list", { repo, scope: "svc" }));
socket.close();
