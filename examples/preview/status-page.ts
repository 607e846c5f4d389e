import type { Containers } from "./containers.ts";
import type { Hosts, Previewed } from "./plan.ts";

type Shown = { repositories: Previewed[]; containers: Containers; hosts: Hosts; told: readonly string[]; port: string };

/** What runs, where it is, and which change made it so. `told`: what happened, newest first. */
export function statusPage({ repositories, containers, hosts, told, port }: Shown): string {
  const isShown = ({ services, notes }: Previewed) => services.length + notes.length > 0;
  const others = repositories.filter(one => !isShown(one)).map(({ entry }) => entry.name);
  repositories.sort((one, other) => (one.entry.name < other.entry.name ? -1 : 1));
  const parts = repositories.filter(isShown).map(({ entry, services, routes, last, notes }) => {
    const lost: string[] = [];
    const links: { [service: string]: string } = {};
    for (const [host, { service, svc }] of routes) {
      const has = host === "localhost" ? undefined : hosts.get(host);
      const link = svc.proxy_http ? `<a href="http://${host}:${port}">${host}</a><br>` : `${host}<br>`;
      if (has?.entry.id === entry.id && has.route.service === service) links[service] = (links[service] ?? "") + link;
      else lost.push(`${host} is not served here: ${has?.entry.name ?? "this page"} has it already.`);
    }
    const rows = services.map(({ id, name, image }) => {
      const { state = "starting", digest = "", why = "" } = containers.get(id) ?? {};
      const what = `<div><h3>${text(name)}</h3>${text(why)}</div>`;
      return `<li><b class="${state}">${state}</b>${what}<div>${links[id] ?? ""}</div><div>${text(image)}<small>${text(digest)}</small></div>`;
    });
    const { revision, layer, actor, reason } = last ?? {};
    const made = `Revision ${revision ?? 0}${layer === "local" ? " (local)" : ""} by ${actor}${reason === undefined ? "" : `: ${reason}`}`;
    return `<section><h2>${text(entry.name)}</h2><p>${last === undefined ? "" : text(made)}${noted([...notes, ...lost])}<ul>${rows.join("")}</ul></section>`;
  });
  const again = parts.some(part => part.includes('class="starting"')) ? '<meta http-equiv="refresh" content="2">' : "";
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width">${again}<title>Preview</title>`;
  parts.push(`<p>Without services: ${text(others.join(", ") || "none")}`, noted(told));
  return `<!doctype html><html lang="en">${head}<style>${style}</style><h1>Preview</h1>${parts.join("")}</html>`;
}

const noted = (notes: readonly string[]) => notes.map(note => `<p class="note">${text(note)}`).join("");
const text = (value: string) => value.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);

const style = `:root { color-scheme: light dark; --line: light-dark(#ddd, #3a3a3a); --quiet: light-dark(#595959, #a8a8a8) }
body { font: 15px/1.5 system-ui; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; overflow-wrap: anywhere }
section { border: 1px solid var(--line); border-radius: 8px; margin: 1rem 0; padding: 0 1rem }
h2, h3 { font-size: 1.1rem; margin: .8rem 0 0 } h3 { font-size: 1rem; margin: 0 } p { margin: .2rem 0 .8rem }
ul { list-style: none; margin: 0; padding: 0 } small { color: var(--quiet); display: block }
li { border-top: 1px solid var(--line); display: grid; gap: .2rem 1rem; grid-template-columns: 5rem 3fr 4fr 4fr; padding: .6rem 0 } @media (max-width: 40rem) { li { grid-template-columns: 1fr } }
b { color: var(--quiet) } .ready { color: light-dark(#106b30, #5fd38a) } .failed, .note { color: light-dark(#b03a08, #ff9d6e) }`;
