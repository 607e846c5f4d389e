import { createHash } from "node:crypto";
import type { ConfigScopes, HistoryEntry, RepositoryEntry } from "repoconf/client";

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
  readonly subpaths: { readonly [folder: string]: string };
  readonly isHttp: boolean;
  readonly isHttps: boolean;
  readonly redirects: boolean;
}

/** A repository as it was last read. */
export interface Previewed {
  readonly entry: RepositoryEntry;
  readonly svc: ConfigScopes["svc"];
  readonly services: readonly Service[];
  readonly routes: readonly (readonly [host: string, route: Route])[];
  /** The newest change: who made what is served, and why. */
  readonly last: HistoryEntry | undefined;
  /** What is not as it should be. */
  readonly notes: readonly string[];
}

/** The services and routes of a repository. Pure: it asks nobody and starts nothing. */
export function planOf({ id, name }: RepositoryEntry, svc: ConfigScopes["svc"], variables: Service["variables"]) {
  const notes: string[] = [];
  const services: Service[] = [];
  const ids: { [label: string]: string } = {};
  for (const [service, { image, ready }] of Object.entries(svc.services)) {
    const label = labelOf(service);
    // An engine would read an image that begins with - as an option.
    if (label === "" || ids[label] !== undefined || !/^[^-]/.test(image)) {
      notes.push(`${service} is not started: its name or its image (${image}) cannot be used.`);
      continue;
    }
    const needs = { image, ready, port: svc.default_port, variables };
    const hash = createHash("sha256").update(JSON.stringify(needs)).digest("hex").slice(0, 16);
    ids[label] = `repoconf-preview-${id}-${label}`;
    services.push({ id: ids[label], name: service, hash, timeout: svc.timeout, ...needs });
  }
  const domain = hostOf(svc.proxy_domain) ?? `${labelOf(name) || id}.localhost`;
  const main = ids[labelOf(svc.default || svc.application)] ?? Object.values(ids)[0];
  const common = { isHttp: svc.proxy_http, isHttps: svc.proxy_https, redirects: svc.proxy_https_redirect };
  const routes = Object.entries(ids).map(([label, service]) => route(`${label}.${domain}`, { service, subpaths: {} }));
  if (main !== undefined)
    for (const host of [domain, ...svc.proxy_aliases.flatMap(alias => hostOf(alias) ?? [])])
      routes.push(route(host, { service: main, subpaths: svc.proxy_subpath_map ? ids : {} }));
  return { services, routes, notes };

  function route(host: string, to: Pick<Route, "service" | "subpaths">): readonly [string, Route] {
    return [host, { ...common, ...to }];
  }
}

/** A text as one label of a host name; empty if nothing is left of it. */
function labelOf(text: string): string {
  return (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).join("-").slice(0, 63);
}

/** A host as requests name it, without port and final dot; undefined if it is none. */
export function hostOf(text: string): string | undefined {
  return /^([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?(?::\d+)?$/.exec(text.toLowerCase())?.[1];
}
