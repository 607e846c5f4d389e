import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Service } from "./plan.ts";

const run = promisify(execFile);
const [label, slowest] = ["repoconf.preview", 600_000];

export interface Container {
  readonly service: Service;
  readonly state: "starting" | "ready" | "failed";
  /** On 127.0.0.1, once it is ready. */
  readonly port?: number;
  /** What runs: a name such as `node:24` may mean another image tomorrow. */
  readonly digest?: string;
  readonly why?: string;
}

/** Runs services by `docker`, `podman` or a program with the same arguments. No shell, and no value of a variable in an argument. */
export class Containers {
  readonly #engine: string;
  readonly #containers = new Map<string, Container>();

  constructor(engine: string) {
    this.#engine = engine;
  }

  get(id: string): Container | undefined {
    return this.#containers.get(id);
  }

  /** Stops what is not among these services, also what an earlier run of this tool left, and starts what is missing or different. */
  async apply(services: readonly Service[]): Promise<void> {
    const names = await this.#ask("ps", "--filter", `label=${label}`, "--format", "{{.Names}}");
    const present = new Set(names.split("\n").filter(name => name !== ""));
    for (const id of new Set([...present, ...this.#containers.keys()]))
      if (!services.some(service => service.id === id)) await this.#remove(id);
    for (const service of services) {
      const hash = `{{index .Config.Labels "${label}"}}`;
      const isSame =
        present.has(service.id) && (await this.#ask("inspect", "--format", hash, service.id)) === service.hash;
      if (!isSame || !this.#containers.has(service.id)) await this.#start(service, isSame);
    }
  }

  /** Pulls the image of a service, and replaces its container if that brought another one. */
  async refresh(service: Service): Promise<void> {
    await this.#ask("pull", service.image);
    const newest = await this.#ask("inspect", "--format", "{{.Id}}", service.image);
    if (newest !== this.#containers.get(service.id)?.digest) await this.#start(service, false);
  }

  async #start(service: Service, isThere: boolean): Promise<void> {
    const { id, image, variables } = service;
    this.#containers.set(id, { service, state: "starting" });
    try {
      if (!isThere) {
        await this.#remove(id);
        const names = Object.keys(variables).flatMap(name => ["--env", name]);
        const options = ["--detach", "--name", id, "--label", `${label}=${service.hash}`];
        const args = ["run", ...options, "--publish", `127.0.0.1::${service.port}`, ...names, image];
        // The values come from the environment of the engine's process, which other users cannot read.
        await run(this.#engine, args, { env: { ...process.env, ...variables }, timeout: slowest });
      }
      const [address = ""] = (await this.#ask("port", id, `${service.port}/tcp`)).split("\n");
      const port = Number(address.slice(address.lastIndexOf(":") + 1));
      const container: Container = {
        service,
        state: "starting",
        digest: await this.#ask("inspect", "--format", "{{.Image}}", id),
      };
      this.#containers.set(id, container);
      void this.#waitUntilReady(container, port);
    } catch (error) {
      this.#containers.set(id, { service, state: "failed", why: (error as Error).message });
    }
  }

  async #waitUntilReady(container: Container, port: number): Promise<void> {
    const { id, ready, timeout } = container.service;
    const end = Date.now() + timeout * 1000;
    const isReady = () =>
      run(this.#engine, ["exec", id, "sh", "-c", ready], { timeout: timeout * 1000 }).then(
        () => true,
        () => false,
      );
    const become = (now: Partial<Container>) => this.#containers.set(id, { ...container, ...now });
    while (this.#containers.get(id) === container) {
      if (ready === "" || (await isReady())) return void become({ state: "ready", port });
      if (timeout > 0 && Date.now() > end)
        return void become({ state: "failed", why: `not ready after ${timeout} seconds` });
      await new Promise(resolve => setTimeout(resolve, 500));
    }
  }

  async #remove(id: string): Promise<void> {
    await this.#ask("rm", "--force", id).catch(() => undefined);
    this.#containers.delete(id);
  }

  async #ask(...args: string[]): Promise<string> {
    return (await run(this.#engine, args, { timeout: slowest })).stdout.trim();
  }
}
