import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { makeServedHome } from "../helpers/command-home.ts";

const home = await makeServedHome();
afterAll(() => home[Symbol.asyncDispose]());
const folder = join(home.workFolder, "shop");
await mkdir(folder, { recursive: true });
execFileSync("git", ["init", "-q", folder]);
await writeFile(join(folder, ".repoconf.json"), JSON.stringify({ config: { svc: { timeout: 30 } } }));
await home.succeed(["repo", "add", "--in-tree"], { folder });

const run = (...args: readonly string[]) => home.run(args, { folder });
const succeed = (...args: readonly string[]) => home.succeed(args, { folder });
const inTree = async () => JSON.parse(await readFile(join(folder, ".repoconf.json"), "utf8")).config.svc;

test("commands say where they wrote and what counts, and a private value stays out of the work tree", async () => {
  expect(await succeed("set", "svc.timeout=5", "--local")).toBe("Set svc.timeout = 5 (local)\n");
  expect(await succeed("set", "svc.timeout=6")).toBe("Set svc.timeout = 6 (local)\n");
  expect(await succeed("set", "svc.timeout=40", "--shared")).toBe(
    "Set svc.timeout = 40 (shared; your local value still counts)\n",
  );
  expect(await succeed("get", "svc.timeout")).toBe("6\n");
  expect(await inTree()).toEqual({ timeout: 40 });
  const explained = await succeed("explain", "svc.timeout");
  expect(explained).toMatch(/comes from {2}.*local.\w+\.json:\d+:\d+ \(local\)/);
  expect(explained).toMatch(/beneath {5}40 \(shared, .*\.repoconf\.json:1:\d+\)/);
  expect(await succeed("history", "--limit", "2")).toMatch(
    /revision 4 {2}by owner[\s\S]*revision 3 {2}\(local\) {2}by owner/,
  );
  expect(JSON.parse(await succeed("export"))).toEqual({ svc: { timeout: 6 } });
  expect(JSON.parse(await succeed("export", "--shared"))).toEqual({ svc: { timeout: 40 } });
  expect(JSON.parse(await succeed("export", "--local"))).toEqual({ svc: { timeout: 6 } });
  await succeed("undo");
  expect([await inTree(), await succeed("get", "svc.timeout")]).toEqual([{ timeout: 30 }, "6\n"]);
  expect(await succeed("unset", "svc.timeout")).toBe("Unset; now svc.timeout = 30 (local)\n");
  await succeed("undo");
  expect([await inTree(), await succeed("get", "svc.timeout")]).toEqual([{ timeout: 30 }, "6\n"]);
  expect(await succeed("get", "svc.timeout", "--offline")).toBe("30\n");
  const both = await run("set", "svc.timeout=5", "--local", "--shared");
  expect(both).toMatchObject({ code: 2, errorOutput: expect.stringContaining("not both") });
});

test("import into a work tree's repository imports local values, unless --shared", async () => {
  await writeFile(join(folder, "own.json"), JSON.stringify({ svc: { domain: "mine.test" } }));
  const imported = await succeed("import", "own.json", "--yes");
  expect(imported).toContain("As local values, which only this machine has:");
  expect(imported).toContain("as local values, revision");
  expect(await inTree()).toEqual({ timeout: 30 });
  expect(await succeed("get", "svc.domain")).toBe("mine.test\n");
  await writeFile(join(folder, "ours.json"), JSON.stringify({ svc: { domain: "ours.test" } }));
  await succeed("import", "ours.json", "--yes", "--shared");
  expect([await inTree(), await succeed("get", "svc.domain")]).toEqual([
    { timeout: 30, domain: "ours.test" },
    "mine.test\n",
  ]);
});
