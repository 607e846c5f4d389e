import { createHash } from "node:crypto";
import type { ConfigScopes, HistoryEntry, RepositoryEntry } from "repoconf/client";

type Svc = ConfigScopes["svc"];
type Named = Pick<RepositoryEntry, "id" | "name"> & { linked?: { readonly name: string; readonly slot: number } };
export interface Service {
  /** The name of its container. */
  readonly id: string;
  readonly name: string;
  readonly image: string;
  /** A command that succeeds in the container once it is ready, within `timeout` seconds. */
  readonly ready: string;
  readonly timeout: number;
  readonly port: string;
  readonly variables: { readonly [name: string]: string };
  /** Another one means that the container must be replaced. */
  readonly hash: string;
}

/** Where a request to a host goes: to a service, or by its first folder to several. */
export interface Route {
  readonly service: string;
  readonly subpaths?: ReadonlyMap<string, string>;
  readonly svc: Svc;
}

/** A repository as it was last read. */
export interface Previewed extends ReturnType<typeof planOf> {
  readonly entry: Named;
  readonly svc?: Svc;
  /** The newest change of the scope: who made what is served, and why. */
  readonly last?: (Pick<HistoryEntry, "revision" | "actor" | "reason"> & { readonly layer?: string }) | undefined;
}

/** The services and routes of a repository, and what is not as it should be. Pure: it asks nobody and starts nothing. */
export function planOf({ id, name, linked }: Named, svc: Svc, variables: Service["variables"]) {
  const notes: string[] = [];
  const services: Service[] = [];
  const ids = new Map<string, string>();
  for (const [service, { image, ready }] of Object.entries(svc.services)) {
    const label = labelOf(service);
    // An engine would read an image that begins with - as an option.
    if (label === "" || ids.has(label) || !/^[^-]/.test(image)) {
      notes.push(`${service} is not started: its name or its image (${image}) cannot be used.`);
      continue;
    }
    const needs = { image, ready, port: svc.default_port, variables };
    const hash = createHash("sha256").update(JSON.stringify(needs)).digest("hex");
    // No label has a dot, so no two services have one container.
    ids.set(label, `repoconf-preview-${label}.${id}`);
    services.push({ id: `repoconf-preview-${label}.${id}`, name: service, hash, timeout: svc.timeout, ...needs });
  }
  // A linked worktree has the domain and the aliases of its repository, so its hosts begin with its name.
  const before = linked === undefined ? "" : `${labelOf(linked.name) || linked.slot}.`;
  const whole = linked === undefined ? name : name.slice(0, name.lastIndexOf("@"));
  const domain = before + (hostOf(svc.proxy_domain) ?? `${labelOf(whole) || labelOf(id)}.localhost`);
  const aliases = svc.proxy_aliases.flatMap(alias => hostOf(alias) ?? []).map(alias => before + alias);
  const main = ids.get(labelOf(svc.default || svc.application)) ?? [...ids.values()][0];
  const routes: [host: string, route: Route][] = [];
  for (const [label, service] of ids) routes.push([`${label}.${domain}`, { service, svc }]);
  if (main !== undefined)
    for (const host of new Set([domain, ...aliases])) routes.push([host, { service: main, subpaths: ids, svc }]);
  return { services, routes, notes };
}

export type Hosts = Map<string, { readonly entry: Named; readonly route: Route }>;

/** Shares out the hosts. A repository that has one keeps it: another one that claims it later, by a pull for example, does not get it. */
export function shareHosts(repositories: ReadonlyMap<string, Previewed>, before: Hosts): Hosts {
  const hosts: Hosts = new Map();
  for (const isKept of [true, false])
    for (const { entry, routes } of repositories.values())
      for (const [host, route] of routes)
        if (!hosts.has(host) && (!isKept || before.get(host)?.entry.id === entry.id)) hosts.set(host, { entry, route });
  return hosts;
}

/** A text as one label of a host name; empty if nothing is left of it. */
function labelOf(text: string): string {
  return (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).join("-").slice(0, 63);
}

/** A host as requests name it, without port and final dot; undefined if it is none. */
export function hostOf(text: string): string | undefined {
  return /^([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?(?::\d+)?$/.exec(text.toLowerCase())?.[1];
}
