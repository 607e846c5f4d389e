import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { projectFolder, repoconfCommand, runProcess, runRepoconf, spawnDaemon } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

describe("the guide to a tool of your own", () => {
  test.each(["client.ts", "tool.ts", "tool.py", "watch.py", "tool.sh", "scopes/build.schema.json"])(
    "shows examples/%s as it is",
    async name => {
      const guide = await readFile(join(projectFolder, "docs/tool-of-your-own.md"), "utf8");
      const example = await readFile(join(projectFolder, "examples", name), "utf8");
      expect(guide).toContain(`\n${example}\`\`\``);
    },
  );

  describe.skipIf(process.platform === "win32")("the tool in the shell", () => {
    /** Adds "shop" for the tool to run on. `repoconf` is the built command; `before` is shell code that runs before it. */
    async function prepare(before = "") {
      const daemon = await spawnDaemon();
      const folder = await temporaryFolder();
      const script = `#!/bin/sh\n${before}\nexec "${process.execPath}" "${repoconfCommand}" "$@"\n`;
      await writeFile(join(folder.path, "repoconf"), script, { mode: 0o755 });
      const environment = { REPOCONF_HOME: daemon.homeFolder, PATH: `${folder.path}:${process.env["PATH"]}` };
      const run = async (...args: readonly string[]) => (await runRepoconf(args, { environment })).output;
      await run("repo", "add", "--id", "shop", daemon.homeFolder);
      return {
        run,
        runTool: () => runProcess("sh", ["examples/tool.sh", "shop"], { environment }),
        [Symbol.asyncDispose]: async () => {
          await daemon[Symbol.asyncDispose]();
          await folder[Symbol.asyncDispose]();
        },
      };
    }

    test("changes a value it has seen", async () => {
      await using shop = await prepare();
      const done = await shop.runTool();
      expect(done).toMatchObject({
        code: 0,
        output: expect.stringMatching(/^Set svc.timeout = 910\nsvc.timeout = 910\n/),
      });
      expect(done.output).toContain("ten more seconds");
    });

    test("loses no change when it runs four times at once", async () => {
      await using shop = await prepare();
      const done = await Promise.all(Array.from({ length: 4 }, () => shop.runTool()));
      expect(done.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
      expect(await shop.run("get", "svc.timeout", "--repo", "shop")).toBe("940\n");
    });

    test("does not overwrite a change made right after its read", async () => {
      // The first command that reads the value lets another tool change it before it exits.
      const race = `if [ "$1" = get ] && mkdir "$0.raced" 2>/dev/null; then
  "${process.execPath}" "${repoconfCommand}" "$@"
  "${process.execPath}" "${repoconfCommand}" set svc.timeout=500 --repo shop >/dev/null
  exit
fi`;
      await using shop = await prepare(race);
      expect(await shop.runTool()).toMatchObject({ code: 0 });
      expect(await shop.run("get", "svc.timeout", "--repo", "shop")).toBe("510\n");
    });

    test("stops retrying if the value itself is refused", async () => {
      await using shop = await prepare();
      await shop.run("set", "svc.timeout=86395", "--repo", "shop");
      expect(await shop.runTool()).toMatchObject({ code: 3, output: "" });
      expect(await shop.run("get", "svc.timeout", "--repo", "shop")).toBe("86395\n");
    });
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
