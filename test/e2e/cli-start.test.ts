import { expect, test } from "vitest";
import { makeCommandHome } from "../helpers/command-home.ts";
import { loadedBy, reportLoaded } from "../helpers/report-loaded.ts";
import { runRepoconf } from "../helpers/spawned-daemon.ts";

test("--version loads no command and no client", async () => {
  const { code, errorOutput } = await runRepoconf(["--version"], { nodeArguments: reportLoaded });
  expect(code).toBe(0);
  const { parts, files } = loadedBy(errorOutput);
  expect(parts.filter(name => name.includes("undici"))).toEqual([]);
  expect(files).toContain("repoconf.js");
  expect(files.filter(name => /^(client|session|get|set|daemon|locate)-/.test(name))).toEqual([]);
});

test("search loads only its own command, and neither the daemon's code nor Node's fetch", async () => {
  await using home = await makeCommandHome();
  await home.succeed(["repo", "add", ".", "--id", "shop"]);
  const { code, errorOutput } = await home.run(["search", "repo:shop"], { nodeArguments: reportLoaded });
  expect(code).toBe(0);
  const { parts, files } = loadedBy(errorOutput);
  expect(parts.filter(name => name.includes("undici"))).toEqual([]);
  expect(
    files.filter(name => /^(one-shot|daemon|background|set|history|doctor|backup|mcp|serve)[-.]/.test(name)),
  ).toEqual([]);
});
