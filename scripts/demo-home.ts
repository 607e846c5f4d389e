import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { connect, type RepoconfClient } from "../main/client/client.ts";
import { createDaemon } from "../main/daemon/daemon.ts";

/** Fills an empty home with example repositories: nested values, a custom scope, a history, a broken file. */
export async function fillDemoHome(home: string): Promise<void> {
  const daemon = await createDaemon({ home, version: "demo", port: 0, logger: pino({ level: "silent" }) });
  try {
    await mkdir(join(home, "scopes"), { recursive: true });
    const schema = "build.schema.json";
    await copyFile(join(import.meta.dirname, "../examples/scopes", schema), join(home, "scopes", schema));
    using client = await connect({ home });
    await waitForScope(client, "build");
    await fill(client, home);
  } finally {
    await daemon.close();
  }
  await addComments(join(home, "repos/webshop.json"));
  await breakFile(join(home, "repos/old-blog.json"));
}

async function waitForScope(client: RepoconfClient, wanted: string): Promise<void> {
  while (!(await client.run("scope/list", {})).some(({ scope }) => scope === wanted)) {
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

async function fill(client: RepoconfClient, home: string): Promise<void> {
  const folder = (name: string) => join(home, "work", name);
  for (const name of ["webshop", "compiler"]) await mkdir(folder(name), { recursive: true });
  await client.run("repo/add", { id: "webshop", name: "webshop", path: folder("webshop") });
  await client.set("webshop", {
    "svc.timeout": 120,
    "svc.services": {
      web: { ready: "curl -f localhost:8080/health", image: "node:24" },
      database: { ready: "pg_isready -U shop", image: "postgres:17" },
      search: { ready: "curl -f localhost:9200", image: "opensearch:2" },
    },
    "svc.default": "web",
    "svc.application": "web",
    "svc.proxy_https": true,
    "svc.proxy_https_redirect": true,
    "svc.proxy_domain": "shop.test",
    "svc.proxy_aliases": ["www.shop.test", "api.shop.test"],
    "svc.envvars": [
      { name: "DATABASE_URL", value: "postgres://shop:hunter2@database/shop" },
      { name: "LOG_LEVEL", value: "debug" },
    ],
  });
  // The scope `build` has no types here, so its fields are set with the untyped request.
  await client.run("repo/add", { id: "compiler", name: "compiler", path: folder("compiler"), inTree: true });
  await client.run("config/set", {
    repo: "compiler",
    "build.jobs": 8,
    "build.mode": "release",
    "build.targets": { all: { command: "make all" }, check: { command: "make check", folder: "tests" } },
    "build.default_target": "all",
    "build.signing_key": "0123456789abcdef",
    "svc.refresh_day": 6,
  });
  // Creates some history.
  await client.set("webshop", { "svc.timeout": 180 }, { reason: "the search takes long to warm up" });
  await client.set("webshop", { "svc.proxy_subpath_map": true });
  await client.run("history/restore", { repo: "webshop", to: 3, reason: "one change too far" });
  await client.run("repo/add", { id: "notes", name: "notes" });
  await client.set("notes", { "svc.application_path": "/srv/notes", "svc.default_port": "4000" });
  await client.run("repo/add", { id: "empty", name: "nothing set yet" });
  await client.run("repo/add", { id: "old-blog", name: "old blog" });
  await client.set("old-blog", { "svc.timeout": 60, "svc.domain": "blog.test", "svc.provider": "home" });
}

async function addComments(file: string): Promise<void> {
  const text = await readFile(file, "utf8");
  await writeFile(
    file,
    text
      .replace(`"timeout": 180,`, `// the database takes its time on a cold laptop\n      "timeout": 180,`)
      .replace(`"proxy_domain"`, `/* resolved by /etc/hosts */ "proxy_domain"`),
  );
}

async function breakFile(file: string): Promise<void> {
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace(`"domain": "blog.test",`, `"domain": "blog.test"`));
}
