/**
 * The status page of examples/preview, as docs/tool-of-your-own.md shows it: for `npm run pictures`, and for the test that it is current. Its
 * containers are those of stand-in-engine.mjs.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { pino } from "pino";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { createDaemon } from "../main/daemon/daemon.ts";
import { freePort } from "../test/helpers/free-port.ts";
import { connect } from "../test/helpers/patient-client.ts";

const project = join(import.meta.dirname, "..");
/** What the page shows once everything is as it will stay. */
const settled = [
  /not ready after 2 seconds/,
  /Revision \d+ \(local\)/,
  /no person has set/,
  /has it already/,
  /is not started/,
];

/** Fills this empty folder with repositories, and shows them with the tool. */
export async function startPreviewDemo(folder: string) {
  const at = (...names: string[]) => join(folder, ...names);
  for (const name of ["home", "containers", "shop", "docs"]) await mkdir(at(name), { mode: 0o700 });
  const daemon = await createDaemon({ home: at("home"), version: "0.1.0", port: 0, logger: pino({ level: "silent" }) });
  const client = await connect({ home: at("home") });

  const git = (...args: string[]) =>
    promisify(execFile)("git", ["-C", at("shop"), "-c", "user.name=Ada", "-c", "user.email=ada@shop.test", ...args]);
  await git("init", "-q");
  await client.run("repo/add", { id: "shop", name: "shop", path: at("shop"), inTree: true });
  await client.set(
    "shop",
    {
      "svc.proxy_domain": "shop.test",
      "svc.proxy_aliases": ["www.shop.test"],
      "svc.timeout": 2,
      "svc.default": "web",
      "svc.services": { web: { ready: "true", image: "node:26" }, database: { ready: "false", image: "postgres:18" } },
    },
    { reason: "the next Node and the next database" },
  );
  await git("add", ".repoconf.json");
  await git("commit", "-qm", "How the shop runs");
  await git("worktree", "add", "-q", at("login"));
  const { id } = await client.run("repo/find", { path: at("login") });
  const envvars = [{ name: "LOG_LEVEL", value: "debug" }];
  await client.run("config/set", { repo: id, "svc.envvars": envvars, layer: "local", reason: "look closer" });

  const pulled = { web: { ready: "", image: "nginx:1" } };
  await writeFile(at("docs", ".repoconf.json"), JSON.stringify({ config: { svc: { services: pulled } } }));
  await client.run("repo/add", { id: "docs", name: "docs", path: at("docs"), inTree: true });
  await client.run("repo/add", { id: "test-shop", name: "test shop" });
  const services = { web: { ready: "", image: "node:18" }, cron: { ready: "", image: "--privileged" } };
  await client.set(
    "test-shop",
    { "svc.services": services, "svc.proxy_domain": "shop.test" },
    { reason: "to compare" },
  );
  await client.run("repo/add", { id: "notes", name: "notes" });

  const grants = [{ repos: "*" as const, fields: ["*"], right: "read" as const }];
  const { key } = await client.run("key/create", { name: "preview", grants, rights: ["reveal"] });
  const port = await freePort();
  const words = ["--engine", join(project, "scripts/stand-in-engine.mjs"), "--port", String(port)];
  const tool = spawn(process.execPath, [join(project, "examples/preview/preview.ts"), ...words], {
    env: {
      ...process.env,
      PATH: `${join(project, "scripts/bin")}${delimiter}${process.env["PATH"]}`,
      ...{ REPOCONF_HOME: at("home"), REPOCONF_API_KEY: key, CONTAINERS: at("containers") },
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(tool.stdout, "data");
  const address = `http://localhost:${port}/`;
  return {
    show: async (browser: Browser, options: BrowserContextOptions): Promise<Page> => {
      // While something starts, the page loads itself again.
      let text = "";
      while (text.includes("starting") || !settled.every(part => part.test(text))) {
        await delay(200);
        text = await (await fetch(address)).text();
      }
      const page = await (await browser.newContext(options)).newPage();
      await page.goto(address);
      return page;
    },
    /** What the page says, without what differs between machines. */
    whatItSays: async (page: Page) => `${await page.locator("body").ariaSnapshot()}\n`.replaceAll(`:${port}`, ":8088"),
    close: async () => {
      tool.kill();
      await once(tool, "exit");
      for (const file of await readdir(at("containers")))
        if (file.endsWith(".json"))
          process.kill((JSON.parse(await readFile(at("containers", file), "utf8")) as { pid: number }).pid);
      client.close();
      await daemon.close();
    },
  };
}
