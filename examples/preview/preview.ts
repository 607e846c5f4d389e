/**
 * Previews the services of every repository behind one proxy: what `svc` is for. It needs the command `repoconf`.
 *   REPOCONF_API_KEY=... node examples/preview/preview.ts [--port 8088] [--engine podman] [--cert FILE --key FILE --https-port 8443]
 * The key needs the right to read every repository, and `--reveal` for the variables. SIGHUP refreshes all images at once.
 */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { parseArgs, promisify } from "node:util";
import { connect, type RepositoryEntry } from "repoconf/client";
import { runContainers } from "./containers.ts";
import { type Hosts, type Previewed, planOf, type Service, shareHosts } from "./plan.ts";
import { startProxy } from "./proxy.ts";
import { statusPage } from "./status-page.ts";

process.on("uncaughtException", (error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
const text = { type: "string" } as const;
const { values } = parseArgs({ options: { port: text, engine: text, cert: text, key: text, "https-port": text } });
const { port = "8088", engine = "docker", cert, key, "https-port": securePort = "8443" } = values;
const client = await connect();
const containers = runContainers(engine);
const repositories = new Map<string, Previewed>();
let hosts: Hosts = new Map();
/** What failed and what was removed, newest first. */
let told: readonly string[] = [];
await startProxy({
  port: Number(port),
  ...(cert && key && { secure: { port: Number(securePort), cert: await readFile(cert), key: await readFile(key) } }),
  routeOf: host => hosts.get(host)?.route,
  portOf: id => containers.get(id)?.port,
  statusPage: () => statusPage({ repositories: [...repositories.values()], containers, hosts, told, port }),
});
process.stdout.write(`Status: http://localhost:${port}\n`);

function tell(what: string): void {
  process.stderr.write(`${what}\n`);
  told = [`${new Date().toTimeString().slice(0, 8)} ${what}`, ...told.filter(one => !one.endsWith(what))].slice(0, 10);
}

/** One thing at a time, in the order in which it was asked for. */
let queue: Promise<unknown> = Promise.resolve();
function inTurn(task: () => Promise<unknown>): void {
  queue = queue.then(task).catch((error: Error) => tell(error.message));
}

/** Reads a repository. A command that waits for a person's trust is not among its values, but told in its health. */
async function read(entry: RepositoryEntry): Promise<void> {
  const notes = entry.health.map(({ message }) => message);
  const before = repositories.get(entry.id) ?? { services: [], routes: [] };
  try {
    const { svc } = await client.list(entry.id);
    const history = await client.run("history/list", { repo: entry.id });
    const last = history.find(({ changes }) => "svc" in changes) ?? history[0];
    // The command resolves references to secrets too, such as cmd://op/vault/item.
    const command = ["env", "--repo", entry.id, "--format", "json"];
    const variables = Object.keys(svc.services).length ? (await promisify(execFile)("repoconf", command)).stdout : "{}";
    const plan = planOf(entry, svc, JSON.parse(variables) as Service["variables"]);
    repositories.set(entry.id, { entry, svc, last, ...plan, notes: [...notes, ...plan.notes] });
  } catch (error) {
    // Such as variables that cannot be had: what runs goes on with those that it has.
    repositories.set(entry.id, { ...before, entry, notes: [...notes, (error as Error).message] });
  }
}

/** Reads these repositories, then makes the containers what the plans say, and touches no others. */
async function update(entries: readonly RepositoryEntry[]): Promise<void> {
  for (const entry of entries) await read(entry);
  hosts = shareHosts(repositories, hosts);
  await containers.apply([...repositories.values()].flatMap(({ services }) => services));
}

async function updateAll(): Promise<void> {
  const entries = await client.repositories();
  for (const [id, { entry, routes }] of repositories) {
    if (entries.some(one => one.id === id)) continue;
    repositories.delete(id);
    tell(`${entry.name} was removed, and nothing is at ${routes.map(([host]) => host).join(", ")} any more.`);
  }
  await update(entries);
}

/** Gets new images, replaces the containers that run older ones, and starts again those that have ended. */
async function refresh(which: (repository: Previewed) => boolean): Promise<void> {
  for (const service of [...repositories.values()].filter(which).flatMap(({ services }) => services))
    await containers.refresh(service).catch((error: Error) => tell(error.message));
  await update([]);
}

let refreshedAt = "";
setInterval(() => {
  const now = new Date();
  const hour = `${now.toDateString()} ${now.getHours()}`;
  const isNew = hour !== refreshedAt;
  refreshedAt = hour;
  inTurn(() => refresh(({ svc }) => isNew && svc?.refresh_day === now.getDay() && svc.refresh_hour === now.getHours()));
}, 60_000);
process.on("SIGHUP", () => inTurn(() => refresh(() => true)));

for await (const [resource, event, payload] of client.watchEverything({ onBegin: () => inTurn(updateAll) })) {
  if (resource === "config" && event === "changed")
    inTurn(async () => update(await client.run("repo/list", { repo: payload.repo })));
  // Also after a lost connection: repositories may have come and gone meanwhile.
  else if (resource === "repo" || resource === "scope" || event === "resumed") inTurn(updateAll);
}
