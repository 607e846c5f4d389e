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

test("the first command after a stop loads what starts the daemon, and not the long way", async () => {
  // Only over a Unix socket: without one, every command takes the long way.
  await using home = await makeCommandHome(false);
  await home.succeed(["repo", "add", ".", "--id", "shop"]);
  await home.succeed(["set", "svc.timeout=41"]);
  await home.succeed(["stop"]);
  const { output, errorOutput } = await home.run(["get", "svc.timeout"], { nodeArguments: reportLoaded });
  expect(output).toBe("41\n");
  const { files } = loadedBy(errorOutput);
  expect(files.some(name => name.startsWith("start-or-end-"))).toBe(true);
  expect(files.filter(name => /^(program|session|client|get|daemon)-/.test(name))).toEqual([]);
});

test("the first command says why no daemon can be started, once, and ends with the same status as others", async () => {
  await using home = await makeCommandHome();
  await home.succeed(["repo", "add", ".", "--id", "shop"]);
  await home.succeed(["stop"]);
  await home.put("format", "99\n");
  const told = await home.run(["get", "svc.timeout"]);
  expect(told).toMatchObject({ code: 4, output: "" });
  expect(told.errorOutput).toMatch(/^repoconf: Could not start a daemon for .*format 99.*\n$/);
  expect(await home.run(["repo", "list"])).toEqual(told);
  await home.refuse(4, ["get", "svc.timeout", "--no-start"], /No daemon is running/);
});
