import type { Containers } from "./containers.ts";
import type { Previewed } from "./plan.ts";

/** What runs, where it is, and which change made it so. */
export function statusPage(repositories: readonly Previewed[], containers: Containers): string {
  const isShown = ({ services, notes }: Previewed) => services.length + notes.length > 0;
  const others = repositories.filter(one => !isShown(one)).map(({ entry }) => entry.name);
  const parts = repositories.filter(isShown).map(({ entry, services, routes, last, notes }) => {
    const rows = services.map(service => {
      const { state = "starting", digest = "", why = "" } = containers.get(service.id) ?? {};
      const hosts = routes.filter(([, route]) => route.service === service.id).map(([host]) => text(host));
      return `<tr class="${state}"><td>${text(service.name)}<td>${state} ${text(why)}<td>${hosts.join("<br>")}<td>${text(service.image)}<br><small>${text(digest)}</small>`;
    });
    const made =
      last && `Revision ${last.revision} by ${last.actor}${last.reason === undefined ? "" : `: ${last.reason}`}`;
    const told = notes.map(note => `<p class="note">${text(note)}</p>`).join("");
    return `<h2>${text(entry.name)}</h2><p>${text(made ?? "")}</p>${told}<table>${rows.join("")}</table>`;
  });
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Preview</title><style>${style}</style><h1>Preview</h1>${parts.join("")}<p>Without services: ${text(others.join(", ") || "none")}</html>`;
}

const text = (value: string) => value.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);

const style =
  "body{font:15px/1.5 system-ui;margin:2rem auto;max-width:60rem;padding:0 1rem;color-scheme:light dark}td{padding:.3rem 1rem .3rem 0;vertical-align:top}small{opacity:.7}.ready td:nth-child(2){color:#16803c}.failed td:nth-child(2),.note{color:#c2410c}";
