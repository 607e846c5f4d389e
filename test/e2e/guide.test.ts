import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { projectFolder, repoconfCommand, runProcess, runRepoconf, spawnDaemon } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

describe("the guide to a tool of your own", () => {
  test.each(["client.ts", "tool.ts", "tool.py", "tool.sh", "scopes/build.schema.json"])(
    "shows examples/%s as it is",
    async name => {
      const guide = await readFile(join(projectFolder, "docs/tool-of-your-own.md"), "utf8");
      const example = await readFile(join(projectFolder, "examples", name), "utf8");
      expect(guide).toContain(`\n${example}\`\`\``);
    },
  );

  test.skipIf(process.platform === "win32")("the tool in the shell changes a value it has seen", async () => {
    await using daemon = await spawnDaemon();
    await using folder = await temporaryFolder();
    const bin = join(folder.path, "repoconf");
    await writeFile(bin, `#!/bin/sh\nexec "${process.execPath}" "${repoconfCommand}" "$@"\n`, { mode: 0o755 });
    const environment = { REPOCONF_HOME: daemon.homeFolder, PATH: `${folder.path}:${process.env["PATH"]}` };
    await runRepoconf(["repo", "add", "--id", "shop", daemon.homeFolder], { environment });
    const done = await runProcess("sh", ["examples/tool.sh", "shop"], { environment });
    expect(done).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^Set svc.timeout = 910\nsvc.timeout = 910\n/),
    });
    expect(done.output).toContain("ten more seconds");
  });

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
