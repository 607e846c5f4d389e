import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { svcSchema } from "../../shared/scopes/svc.ts";
import type { Machine } from "./machine.ts";

/** A value for each of the twenty fields of `svc`. */
export const twentyFields: { readonly [field: string]: unknown } = {
  ...Object.fromEntries(Object.entries(svcSchema.properties).map(([field, schema]) => [field, schema.default])),
  timeout: 30,
  default: "web",
  application: "web",
  application_path: "/srv/shop",
  services: { web: { ready: "curl -f localhost:8080/health", image: "node:24" } },
  envvars: [{ name: "LOG_LEVEL", value: "debug" }],
  domain: "shop.test",
  provider: "home",
  proxy_domain: "shop.test",
  proxy_url: "https://shop.test",
  proxy_aliases: ["www.shop.test"],
};

export function repositoryId(index: number): string {
  return `r${String(index).padStart(6, "0")}`;
}

/** Creates a home with repositories of twenty fields each, and runs a daemon once so that the index knows all of them. */
export async function makeHome(machine: Machine, repositories: number): Promise<string> {
  const home = await machine.newFolder("home");
  const folder = join(home, "repos");
  await mkdir(folder, { mode: 0o700 });
  const text = `${JSON.stringify({ name: "a repository", config: { svc: twentyFields } }, null, 2)}\n`;
  for (let first = 0; first < repositories; first += 500) {
    const some = Array.from({ length: Math.min(500, repositories - first) }, (_, index) => first + index);
    await Promise.all(some.map(index => writeFile(join(folder, `${repositoryId(index)}.json`), text, { mode: 0o600 })));
  }
  machine.progress(`indexing ${repositories.toLocaleString("en")} repositories`);
  const daemon = await machine.daemon(home);
  const socket = await daemon.connect();
  // The reply comes once all files have been read.
  await new Promise(resolve => socket.emit("svc", "repo", "list", { limit: 1 }, resolve));
  socket.close();
  await daemon.stop();
  return home;
}

/** The path of a repository's file in the home, and its text. */
export async function repositoryFile(home: string, repo: string): Promise<{ path: string; text: string }> {
  const path = join(home, "repos", `${repo}.json`);
  return { path, text: await readFile(path, "utf8") };
}
