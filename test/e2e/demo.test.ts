import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeCommandHome } from "../helpers/command-home.ts";
import { runProcess } from "../helpers/spawned-daemon.ts";

test("npm run demo creates a home with repositories of each kind", async () => {
  await using home = await makeCommandHome();
  const demo = await runProcess(process.execPath, ["scripts/demo.ts", home.homeFolder]);
  expect(demo).toMatchObject({ code: 0, errorOutput: "", output: expect.stringContaining(home.homeFolder) });

  const lines = demo.output.split("\n").filter(line => line.startsWith("  "));
  expect(lines).toHaveLength(9);
  // One opens a browser, and doctor tells of the broken file.
  const pasted = lines.filter(line => !/ (ui|doctor)$/.test(line));
  if (process.platform !== "win32")
    expect(await runProcess("bash", ["-e", "-c", pasted.join("\n")])).toMatchObject({ code: 0, errorOutput: "" });

  const entries: { id: string; health: { code: number; line?: number }[] }[] = await home.json(["repo", "list"]);
  expect(entries.map(entry => entry.id)).toEqual(["compiler", "empty", "notes", "old-blog", "webshop"]);
  expect(entries.find(entry => entry.id === "old-blog")?.health).toMatchObject([{ code: 1106, line: 8 }]);
  expect(entries.filter(entry => entry.health.length > 0)).toHaveLength(1);

  const file = join(home.homeFolder, "repos/webshop.json");
  await home.succeed(["set", "svc.timeout=121", "--repo", "webshop"]);
  expect(await readFile(file, "utf8")).toContain(
    '// the database takes its time on a cold laptop\n      "timeout": 121,',
  );
  expect(await home.succeed(["get", "build.mode", "--repo", "compiler"])).toBe("release\n");
  expect(await home.succeed(["describe", "build.mode"])).toContain(`one of "debug", "release", "profile"`);
  const mistaken = await runProcess(process.execPath, ["scripts/demo.ts", "--port"]);
  expect(mistaken).toEqual({ code: 2, output: "", errorOutput: expect.stringContaining("There is no option --port") });
});
