import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { makeServedHome, makeShop, outcomesOf } from "../helpers/command-home.ts";
import { projectFolder, repoconfCommand, runProcess, spawnDaemon } from "../helpers/spawned-daemon.ts";

/*
 * What people run the command and the client with. They are npm packages of their own, which only these tests need, so they are installed
 * here: all of them would triple what `npm ci` downloads.
 */
const folder = join(projectFolder, "test/runtimes");
const packageOf = (name: string) => join(folder, "node_modules", name);
const program = (name: string) => join(packageOf(name), name === "bun" ? "bin/bun.exe" : "bin/node");
const client = pathToFileURL(join(projectFolder, "dist/client.js")).href;

beforeAll(async () => {
  const installed = await readdir(packageOf("node26")).catch(() => []);
  if (installed.length > 0) return;
  const { code, output, errorOutput } = await runProcess("npm", ["ci", "--no-audit", "--no-fund"], { folder });
  expect(code, output + errorOutput).toBe(0);
});

test.each(["node22", "node26"])("the command and the daemon run with %s", async name => {
  await using home = await makeServedHome();
  const { succeed } = outcomesOf(args =>
    runProcess(program(name), [repoconfCommand, ...args], {
      folder: home.workFolder,
      environment: { REPOCONF_HOME: `${home.homeFolder}-${name}`, NODE_OPTIONS: "" },
    }),
  );
  await succeed(["repo", "add", ".", "--id", "shop"]);
  try {
    await succeed(["set", "svc.timeout=31", "svc.envvars.PORT=8080"]);
    expect(await succeed(["get", "svc.timeout"])).toBe("31\n");
    expect(await succeed(["env", "--format", "json"])).toContain('"PORT": "8080"');
    expect(await succeed(["run", "--", "printenv", "PORT"])).toBe("8080\n");
    expect(await succeed(["history", "svc.timeout"])).toContain("900 -> 31");
    expect(await succeed(["undo", "--yes"])).toContain("svc.timeout");
    expect(await succeed(["doctor"])).toContain("No problems found");
  } finally {
    await succeed(["stop"]);
  }
});

test.each([
  ["node22", []],
  ["node26", []],
  ["bun", []],
  ["deno", ["run", "--allow-all"]],
])("the client connects, sets, watches and is refused under %s", async (name, before) => {
  await using home = await makeShop();
  const command = name === "deno" ? join(packageOf("deno"), "deno") : program(name);
  const { code, output, errorOutput } = await runProcess(
    command,
    [...before, join(folder, "tool.mjs"), client, "shop"],
    { folder: home.workFolder, environment: { REPOCONF_HOME: home.homeFolder } },
  );
  expect({ code, errorOutput }).toEqual({ code: 0, errorOutput: "" });
  expect(JSON.parse(output)).toEqual({
    timeout: 31,
    seen: [["timeout", { value: 31, previous: 900, stored: true }]],
    refused: 1103,
  });
});

test("clients of Socket.IO 3 and 4 get answers, and one of version 2 is told what to do instead", async () => {
  await using daemon = await spawnDaemon();
  const ask = (library: string) =>
    runProcess(process.execPath, [join(folder, "old-client.cjs"), library, daemon.url, daemon.ownerKey]);
  const answered = { code: 0, output: "answered\n", errorOutput: "" };
  expect(await ask(join(projectFolder, "node_modules/socket.io-client"))).toEqual(answered);
  expect(await ask(packageOf("socket.io-client3"))).toEqual(answered);
  const { output } = await ask(packageOf("socket.io-client2"));
  expect(output).toMatch(/^error: This Socket\.IO client is too old: Repoconf needs version 3 or 4/);
});
