import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { projectFolder, runProcess, runRepoconf, spawnDaemon } from "../helpers/spawned-daemon.ts";

describe("the guide to a tool of your own", () => {
  test.each(["client.ts", "tool.ts", "tool.py", "scopes/build.schema.json"])(
    "shows examples/%s as it is",
    async name => {
      const guide = await readFile(join(projectFolder, "docs/tool-of-your-own.md"), "utf8");
      const example = await readFile(join(projectFolder, "examples", name), "utf8");
      expect(guide).toContain(`\n${example}\`\`\``);
    },
  );

  test("the tool on the typed client sets, gets and lists", async () => {
    await using daemon = await spawnDaemon();
    const environment = { REPOCONF_HOME: daemon.homeFolder };
    const refused = await runProcess(process.execPath, ["examples/client.ts", "shop"], { environment });
    expect(refused).toMatchObject({
      code: 1,
      errorOutput: expect.stringMatching(/^1007 There is no repository "shop"/),
    });
    const { code } = await runRepoconf(["repo", "add", "--id", "shop", daemon.homeFolder], { environment });
    expect(code).toBe(0);
    const done = await runProcess(process.execPath, ["examples/client.ts", "shop"], { environment });
    expect(done).toMatchObject({ code: 0, output: "30 seconds, reached as a.test\n", errorOutput: "" });
  });
});
