/**
 * Shows examples/preview with the repositories of `npm run demo`: `npm run preview [-- --engine docker]`. Without `--engine`, a stand-in
 * takes the place of containers, and each service answers with what it was given.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { fillDemoHome } from "./demo-home.ts";

const project = join(import.meta.dirname, "..");
const args = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), "repoconf-preview-"));
const [home, bin, containers] = [join(folder, "home"), join(folder, "bin"), join(folder, "containers")];
for (const one of [home, bin, containers]) await mkdir(one, { mode: 0o700 });
await fillDemoHome(home);

const command = join(project, "dist/repoconf.js");
await writeFile(join(bin, "repoconf"), `#!/bin/sh\nexec "${process.execPath}" "${command}" "$@"\n`, { mode: 0o755 });
const environment = {
  ...process.env,
  REPOCONF_HOME: home,
  PATH: `${bin}${delimiter}${process.env["PATH"]}`,
  CONTAINERS: containers,
};
const repoconf = async (...words: string[]) =>
  (await promisify(execFile)(process.execPath, [command, ...words], { env: environment })).stdout;
if (!args.includes("--engine")) {
  args.push("--engine", join(import.meta.dirname, "stand-in-engine.mjs"));
  // Their own commands ask for databases and web servers.
  for (const service of ["web", "database", "search"])
    await repoconf("set", "--repo", "webshop", `svc.services.${service}.ready=true`);
}
const { key } = JSON.parse(await repoconf("key", "create", "preview", "--right", "read", "--reveal", "--json")) as {
  key: string;
};
process.stdout.write(`Try it, in another terminal:
  curl -H "Host: shop.test" http://127.0.0.1:8088/
  export REPOCONF_HOME=${home}
  npx repoconf set --repo webshop svc.services.web.image=node:26 --reason "the new Node"
  npx repoconf undo --repo webshop
Ctrl+C ends it.
`);

const tool = spawn(process.execPath, [join(project, "examples/preview/preview.ts"), ...args], {
  env: { ...environment, REPOCONF_API_KEY: key },
  stdio: "inherit",
});
process.on("SIGINT", () => {});
process.on("SIGTERM", () => tool.kill());
await once(tool, "exit");
for (const file of await readdir(containers))
  if (file.endsWith(".json"))
    process.kill((JSON.parse(await readFile(join(containers, file), "utf8")) as { pid: number }).pid);
await repoconf("stop").catch(() => undefined);
await rm(folder, { recursive: true, force: true, maxRetries: 10 });
