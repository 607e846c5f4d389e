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

const withTwentyFields = { name: "a repository", config: { svc: twentyFields } };

/** Creates a home with repositories of twenty fields each or with other texts, and runs a daemon once so that the index knows all of them. */
export async function makeHome(
  machine: Machine,
  repositories: number,
  contentOf: (index: number) => object = () => withTwentyFields,
): Promise<string> {
  const home = await machine.newFolder("home");
  const folder = join(home, "repos");
  await mkdir(folder, { mode: 0o700 });
  const textOf = (index: number) => `${JSON.stringify(contentOf(index), null, 2)}\n`;
  for (let first = 0; first < repositories; first += 500) {
    const some = Array.from({ length: Math.min(500, repositories - first) }, (_, index) => first + index);
    await Promise.all(
      some.map(index => writeFile(join(folder, `${repositoryId(index)}.json`), textOf(index), { mode: 0o600 })),
    );
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

interface WideField {
  readonly schema: object;
  readonly value: unknown;
}

/** Creates a home with one repository that has this many fields in the scope `wide`, field_0 and so on. */
export async function homeWithFields(
  machine: Machine,
  fields: number,
  fieldAt: (index: number) => WideField = index => ({ schema: { type: "integer", default: 0 }, value: index }),
): Promise<string> {
  const home = await makeHome(machine, 1);
  const all = Array.from({ length: fields }, (_, index) => [`field_${index}`, fieldAt(index)] as const);
  const properties = Object.fromEntries(all.map(([name, { schema }]) => [name, { ...schema, title: name }]));
  await mkdir(join(home, "scopes"), { recursive: true });
  const schema = { type: "object", title: "Wide", properties };
  await writeFile(join(home, "scopes/wide.schema.json"), JSON.stringify(schema));
  const config = { wide: Object.fromEntries(all.map(([name, { value }]) => [name, value])) };
  const text = `${JSON.stringify({ name: "wide", config }, null, 2)}\n`;
  await writeFile(join(home, `repos/${repositoryId(0)}.json`), text);
  return home;
}

/** The path of a repository's file in the home, and its text. */
export async function repositoryFile(home: string, repo: string): Promise<{ path: string; text: string }> {
  const path = join(home, "repos", `${repo}.json`);
  return { path, text: await readFile(path, "utf8") };
}
