import { expect, test } from "vitest";
import { makeCommandHome } from "../helpers/command-home.ts";
import { runRepoconf } from "../helpers/spawned-daemon.ts";

/** Tells on standard error which parts of Node and which of our own files a command has loaded. */
const tellLoaded = `
import { registerHooks } from "node:module";
const files = [];
registerHooks({ load(url, context, next) { if (url.startsWith("file:")) files.push(url.split("/").at(-1)); return next(url, context); } });
process.on("exit", () => {
  const parts = process.moduleLoadList.filter(name => name.includes("undici"));
  process.stderr.write("loaded: " + JSON.stringify({ parts, files }) + "\\n");
});`;
const nodeArguments = ["--import", `data:text/javascript,${encodeURIComponent(tellLoaded)}`];

function loadedBy(errorOutput: string): { readonly parts: readonly string[]; readonly files: readonly string[] } {
  return JSON.parse(/^loaded: (.*)$/m.exec(errorOutput)?.[1] ?? "{}");
}

test("--version loads no command, and nothing that speaks to a daemon", async () => {
  const { code, errorOutput } = await runRepoconf(["--version"], { nodeArguments });
  expect(code).toBe(0);
  const { parts, files } = loadedBy(errorOutput);
  expect(parts).toEqual([]);
  expect(files).toContain("repoconf.js");
  expect(files.filter(name => /^(client|session|get|set|daemon|locate)-/.test(name))).toEqual([]);
});

test("get loads its own command alone, nothing of the daemon and nothing of Node's fetch", async () => {
  await using home = await makeCommandHome();
  await home.succeed(["repo", "add", ".", "--id", "shop"]);
  const { code, output, errorOutput } = await home.run(["get", "svc.timeout", "--repo", "shop"], { nodeArguments });
  expect([code, output]).toEqual([0, "900\n"]);
  const { parts, files } = loadedBy(errorOutput);
  expect(parts).toEqual([]);
  expect(files.filter(name => /^(daemon|background|set|history|doctor|backup)-/.test(name))).toEqual([]);
});
