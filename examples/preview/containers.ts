import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Service } from "./plan.ts";

const run = promisify(execFile);
const [label, slowest] = ["repoconf.preview", 600_000];

interface Container {
  readonly state: "starting" | "ready" | "failed";
  /** On 127.0.0.1, once it is ready. */
  readonly port?: number;
  /** What runs: a name such as `node:24` may mean another image tomorrow. */
  readonly digest?: string;
  readonly why?: string;
}

export type Containers = ReturnType<typeof runContainers>;
/** Runs services by `docker`, `podman` or a program with the same arguments. No shell, and no value of a variable in an argument. */
export function runContainers(engine: string) {
  const containers = new Map<string, Container>();
  const ask = async (...args: string[]) => (await run(engine, args, { timeout: slowest })).stdout.trim();
  return { get: (id: string) => containers.get(id), apply, refresh };

  /** Stops what is not among these services, also what an earlier run of this tool left, and starts what is missing or different. */
  async function apply(services: readonly Service[]): Promise<void> {
    const names = await ask("ps", "--filter", `label=${label}`, "--format", "{{.Names}}");
    const present = new Set(names.split("\n").filter(name => name !== ""));
    for (const id of new Set([...present, ...containers.keys()]))
      if (!services.some(service => service.id === id)) await remove(id);
    const hash = `{{index .Config.Labels "${label}"}}`;
    for (const service of services) {
      const isSame = present.has(service.id) && (await ask("inspect", "--format", hash, service.id)) === service.hash;
      if (!isSame || !containers.has(service.id)) await start(service, isSame);
    }
  }

  /** Pulls the image of a service, and replaces its container if that brought another one. */
  async function refresh(service: Service): Promise<void> {
    await ask("pull", service.image);
    const newest = await ask("inspect", "--type", "image", "--format", "{{.Id}}", service.image);
    if (newest !== containers.get(service.id)?.digest) await start(service, false);
  }

  async function start(service: Service, isThere: boolean): Promise<void> {
    const { id, image, variables } = service;
    containers.set(id, { state: "starting" });
    try {
      if (!isThere) {
        await remove(id);
        const options = ["--detach", "--name", id, "--label", `${label}=${service.hash}`];
        const names = Object.keys(variables).flatMap(name => ["--env", name]);
        const args = ["run", ...options, "--publish", `127.0.0.1::${service.port}`, ...names, image];
        // The values come from the environment of the engine's process, which other users cannot read.
        await run(engine, args, { env: { ...process.env, ...variables }, timeout: slowest });
      }
      const port = Number(/:(\d+)$/m.exec(await ask("port", id, `${service.port}/tcp`))?.[1]);
      const digest = await ask("inspect", "--format", "{{.Image}}", id);
      const container: Container = { state: "starting", digest };
      containers.set(id, container);
      void waitUntilReady(service, container, port);
    } catch (error) {
      containers.set(id, { state: "failed", why: (error as Error).message });
    }
  }

  async function waitUntilReady({ id, ready, timeout }: Service, container: Container, port: number): Promise<void> {
    const end = timeout > 0 ? Date.now() + timeout * 1000 : Number.POSITIVE_INFINITY;
    const limit = { timeout: timeout * 1000 };
    const check = () => run(engine, ["exec", id, "sh", "-c", ready], limit).then(Boolean, () => false);
    for (;;) {
      const isReady = ready === "" || (await check());
      // Another one has taken its place meanwhile.
      if (containers.get(id) !== container) return;
      if (isReady) return void containers.set(id, { ...container, state: "ready", port });
      const why = `not ready after ${timeout} seconds`;
      if (Date.now() > end) return void containers.set(id, { ...container, state: "failed", why });
      await new Promise(resolve => setTimeout(resolve, 500));
    }
  }

  async function remove(id: string): Promise<void> {
    await ask("rm", "--force", id).catch(() => undefined);
    containers.delete(id);
  }
}
