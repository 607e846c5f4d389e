/**
 * Previews the services of every repository behind one proxy: what `svc` is for.
 *
 *   REPOCONF_API_KEY=... node examples/preview/preview.ts [--port 8088] [--engine podman] [--cert FILE --key FILE --https-port 8443]
 *
 * The key needs the right to read every repository, and `--reveal` for the variables. SIGHUP refreshes all images at once.
 */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { parseArgs, promisify } from "node:util";
import { connect, type RepositoryEntry } from "repoconf/client";
import { Containers } from "./containers.ts";
import { type Previewed, planOf, type Service } from "./plan.ts";
import { startProxy } from "./proxy.ts";
import { statusPage } from "./status-page.ts";

const { values: options } = parseArgs({
  options: {
    port: { type: "string", default: "8088" },
    engine: { type: "string", default: "docker" },
    cert: { type: "string" },
    key: { type: "string" },
    "https-port": { type: "string", default: "8443" },
  },
});
const client = await connect();
const containers = new Containers(options.engine);
const repositories = new Map<string, Previewed>();
const { cert, key, "https-port": securePort } = options;
await startProxy({
  port: Number(options.port),
  ...(cert && key && { secure: { port: Number(securePort), cert: await readFile(cert), key: await readFile(key) } }),
  routeOf: wanted => [...repositories.values()].flatMap(({ routes }) => routes).find(([host]) => host === wanted)?.[1],
  portOf: id => containers.get(id)?.port,
  statusPage: () => statusPage([...repositories.values()], containers),
});
process.stdout.write(`Status: http://localhost:${options.port}\n`);

/** One thing at a time, in the order in which it was asked for. */
let queue: Promise<unknown> = Promise.resolve();
function inTurn(task: () => Promise<unknown>): void {
  queue = queue.then(task).catch((error: Error) => process.stderr.write(`${error.message}\n`));
}

/** Reads a repository. A command that waits for a person's trust is not among its values, but told in its health. */
async function read(entry: RepositoryEntry): Promise<void> {
  const { svc } = await client.list(entry.id);
  const last = (await client.history(entry.id).next()).value ?? undefined;
  const notes = entry.health.map(({ message }) => message);
  const before = repositories.get(entry.id) ?? { services: [], routes: [] };
  // If its variables cannot be had, what runs goes on with those that it has.
  const plan = await variablesOf(entry.id).then(
    variables => planOf(entry, svc, variables),
    (error: Error) => ({ ...before, notes: [error.message] }),
  );
  repositories.set(entry.id, { entry, svc, last, ...plan, notes: [...notes, ...plan.notes] });
}

/** The command resolves references to secrets too, such as cmd://op/vault/item. */
async function variablesOf(repo: string): Promise<Service["variables"]> {
  const { stdout } = await promisify(execFile)("repoconf", ["env", "--repo", repo, "--format", "json"]);
  return JSON.parse(stdout) as Service["variables"];
}

/** Reads these repositories, then makes the containers what the plans say, and touches no others. */
async function update(entries: readonly RepositoryEntry[]): Promise<void> {
  for (const entry of entries) await read(entry);
  await containers.apply([...repositories.values()].flatMap(({ services }) => services));
}

async function updateAll(): Promise<void> {
  const entries = await client.repositories();
  for (const id of repositories.keys()) if (!entries.some(entry => entry.id === id)) repositories.delete(id);
  await update(entries);
}

/** Gets new images, and replaces the containers that run older ones. */
async function refresh(which: (repository: Previewed) => boolean): Promise<void> {
  for (const { services } of [...repositories.values()].filter(which))
    for (const service of services) await containers.refresh(service);
}

let refreshedAt = "";
setInterval(() => {
  const now = new Date();
  const hour = `${now.toDateString()} ${now.getHours()}`;
  const isDue = ({ svc }: Previewed) => svc.refresh_day === now.getDay() && svc.refresh_hour === now.getHours();
  if (hour !== refreshedAt) inTurn(() => refresh(isDue));
  refreshedAt = hour;
}, 60_000);
process.on("SIGHUP", () => inTurn(() => refresh(() => true)));

for await (const [resource, event, payload] of client.watchEverything({ onBegin: () => inTurn(updateAll) })) {
  if (resource === "config" && event === "changed")
    inTurn(async () => update(await client.run("repo/list", { repo: payload.repo })));
  // Also after a lost connection: repositories may have come and gone meanwhile.
  else if (resource === "repo" || resource === "scope" || event === "resumed") inTurn(updateAll);
}
