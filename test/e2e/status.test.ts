import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { addRepositories, makeCommandHome, makeServedHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { connect } from "../helpers/patient-client.ts";
import { saveByRename } from "../helpers/shop.ts";
import { onTerminal } from "../helpers/spawned-daemon.ts";

test("status and doctor report rejected requests and broken files", async () => {
  await using home = await makeCommandHome();
  await home.refuse(4, ["endpoint"], "Start one: repoconf daemon");
  expect((await home.run(["key", "list"])).errorOutput).toContain("Create one for a tool: repoconf key create NAME");
  expect(await home.succeed(["status"])).toContain("repositories  0; to add one: repoconf repo add\n");
  for (const name of ["shop", "bakery"]) {
    await mkdir(join(home.workFolder, name));
    await home.succeed(["repo", "add", name, "--id", name]);
  }
  const well = await home.succeed(["status"]);
  expect(well).toMatch(/^repositories {2}2$/m);
  expect(well).toMatch(/^clients {7}1, including this command$/m);
  expect(well).not.toMatch(/rejected|problem/);
  expect(await home.succeed(["doctor"])).not.toContain("requests rejected");

  const { url } = await home.endpoint();
  await (await fetch(`${url}/livez`, { headers: { Origin: "http://localhost:5173" } })).text();
  await (await fetch(`${url}/metrics`)).text();
  await home.put("repos/bakery.json", `{ "name": "bakery", `);
  await home.put("scopes/escape\u001b[2J.schema.json", "{ broken");
  await until(async () => /the configuration of bakery/.test(await home.succeed(["status"])), "the file to be noticed");
  await until(async () => /scopes.*escape/.test(await home.succeed(["status"])), "the scope to be noticed");
  const status = await home.succeed(["status"]);
  expect(status).toMatch(
    /^rejected {6}1 from web pages of other sites, 1 without a valid key; the daemon's log lists each one$/m,
  );
  expect(status).toMatch(/^problem {7}in the configuration of bakery; for details and fixes: repoconf doctor$/m);
  // A file's name must not be able to clear the terminal.
  expect(status).not.toContain("\u001b");

  const { errorOutput } = await home.run(["repo", "list"], { nodeArguments: onTerminal });
  expect(errorOutput).toContain("For details and fixes: repoconf doctor\n");
  const output = await home.find(1, ["doctor"]);
  expect(output).toMatch(
    /^note\trefusals\t.*1 from web pages of other sites, 1 without a valid key\t.*"origins" in settings\.json/m,
  );
  expect(output).toContain("bakery.json:1:");
});

test("a folder that was deleted is told by repo list, and on a terminal what to type", async () => {
  await using home = await makeServedHome();
  await addRepositories(home, "here", "gone");
  await rm(join(home.workFolder, "gone"), { recursive: true });
  const list = await home.succeed(["repo", "list"]);
  expect(list).toMatch(/^here\there\t0\tok\t/m);
  expect(list).toMatch(/^gone\tgone\t0\tfolder missing\t/m);
  const { errorOutput } = await home.run(["repo", "list"], { nodeArguments: onTerminal });
  expect(errorOutput).toContain("repoconf repo move gone FOLDER");
});

test("where there is nothing to list or to check, a terminal shows no header and no success, but what to type", async () => {
  await using home = await makeServedHome();
  for (const [args, said] of [
    [["repo", "list"], "Add one: repoconf repo add"],
    [["key", "list"], "repoconf key create NAME"],
    [["check"], "Nothing to check"],
  ] as const)
    expect(await home.run(args, { nodeArguments: onTerminal })).toEqual({
      code: 0,
      output: "",
      errorOutput: expect.stringContaining(said),
    });
});

test("on a terminal of 60 columns, status and doctor wrap their sentences between words", async () => {
  await using home = await makeServedHome();
  await home.put("settings.json", JSON.stringify({ "this is no setting that anybody knows and has a long name": 1 }));
  const narrow = [...onTerminal, "--import", "data:text/javascript,process.stdout.columns=60"];
  for (const command of ["status", "doctor"]) {
    const { output } = await home.run([command], { nodeArguments: narrow });
    const words = stripVTControlCharacters(output)
      .split("\n")
      .filter(line => line.length > 60 && / \S+ /.test(line.trim().slice(14)));
    expect(words, command).toEqual([]);
  }
});

test("a merge is no problem: status reports none, doctor notes it, and undo reverts the merge that it names", async () => {
  await using home = await makeCommandHome();
  await home.succeed(["repo", "add", home.workFolder, "--id", "shop"]);
  const file = join(home.homeFolder, "repos/shop.json");
  const before = await readFile(file, "utf8");
  // Save like an editor that read the file before a very recent set.
  using client = await connect({ home: home.homeFolder });
  await client.set("shop", { "svc.timeout": 30 }, { flush: true });
  await saveByRename(file, before.replace('"config": {}', '"config": { "svc": { "domain": "a.test" } }'));
  const health = async () => (await home.json(["repo", "list"]))[0].health;
  await until(async () => (await health()).length > 0, "the merge");
  expect(await health()).toMatchObject([{ code: 1104, message: expect.stringContaining("(revision 3); undo") }]);
  expect(await home.succeed(["status"])).not.toContain("problem");
  expect(await home.succeed(["repo", "list"])).toContain("\tok\t");
  const examined = await home.succeed(["doctor"]);
  expect(examined).toMatch(/^note\trepositories\t.*shop\.json: .*merged \(revision 3\)/m);
  expect(examined).toContain("No problems found (");
  await home.succeed(["undo"]);
  expect(await home.succeed(["list", "--stored"])).toBe("svc.timeout\t30\tstored\n");
  expect(await home.succeed(["doctor"])).not.toContain("merged");
});
