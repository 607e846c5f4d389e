import { expect, test } from "vitest";
import { makeCommandHome } from "../helpers/command-home.ts";
import { loadedBy, reportLoaded } from "../helpers/report-loaded.ts";
import { runRepoconf } from "../helpers/spawned-daemon.ts";

test("--version loads no command and no client", async () => {
  const { code, errorOutput } = await runRepoconf(["--version"], { nodeArguments: reportLoaded });
  expect(code).toBe(0);
  const { parts, files } = loadedBy(errorOutput);
  expect(parts).toEqual([]);
  expect(files).toContain("repoconf.js");
  expect(files.filter(name => /^(client|session|get|set|daemon|locate)-/.test(name))).toEqual([]);
});

test("get loads only its own command, and neither the daemon's code nor Node's fetch", async () => {
  await using home = await makeCommandHome();
  await home.succeed(["repo", "add", ".", "--id", "shop"]);
  const { code, output, errorOutput } = await home.run(["get", "svc.timeout", "--repo", "shop"], {
    nodeArguments: reportLoaded,
  });
  expect([code, output]).toEqual([0, "900\n"]);
  const { parts, files } = loadedBy(errorOutput);
  expect(parts).toEqual([]);
  expect(files.filter(name => /^(daemon|background|set|history|doctor|backup)-/.test(name))).toEqual([]);
});
