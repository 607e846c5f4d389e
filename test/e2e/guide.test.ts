import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { addShop, makeServedHome, makeShop, withCommand } from "../helpers/command-home.ts";
import { projectFolder, repoconfCommand, runProcess } from "../helpers/spawned-daemon.ts";

describe("the guide to a tool of your own", () => {
  test.each([
    ..."first-tool.mjs client.ts tool.ts tool.py watch.py tool.sh post.sh post.py".split(" "),
    ..."scopes/build.schema.json".split(" "),
  ])("shows examples/%s as it is", async name => {
    const guide = await readFile(join(projectFolder, "docs/tool-of-your-own.md"), "utf8");
    const example = await readFile(join(projectFolder, "examples", name), "utf8");
    expect(guide).toContain(`\n${example}\`\`\``);
  });

  describe.skipIf(process.platform === "win32").concurrent("the tool in the shell", () => {
    /** A home with "shop" for the tool to run on. `repoconf` is the built command; `before` is shell code that runs before it. */
    async function prepare(before = "") {
      const home = await makeShop();
      const environment = await withCommand(home, before);
      return { ...home, runTool: () => runProcess("sh", ["examples/tool.sh", "shop"], { environment }) };
    }

    test("changes a value it has seen, loses no change when it runs four times at once, and gives up on a refused value", async () => {
      await using shop = await prepare();
      const done = await shop.runTool();
      expect(done.output).toMatch(/^Set svc.timeout = 910\nsvc.timeout = 910\n[\s\S]*ten more seconds/);
      const runs = await Promise.all(Array.from({ length: 4 }, () => shop.runTool()));
      expect([done, ...runs].map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
      expect(await shop.succeed(["get", "svc.timeout"])).toBe("950\n");
      await shop.succeed(["set", "svc.timeout=86395"]);
      expect(await shop.runTool()).toMatchObject({ code: 3, output: "" });
      expect(await shop.succeed(["get", "svc.timeout"])).toBe("86395\n");
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
      expect(await shop.succeed(["get", "svc.timeout"])).toBe("510\n");
    });
  });

  test("the tool on the typed client sets, gets and lists", async () => {
    await using home = await makeServedHome();
    const environment = { REPOCONF_HOME: home.homeFolder };
    const runClient = () => runProcess(process.execPath, ["examples/client.ts", "shop"], { environment });
    expect(await runClient()).toMatchObject({
      code: 1,
      errorOutput: expect.stringMatching(/^1007 There is no repository "shop"/),
    });
    await addShop(home);
    expect(await runClient()).toMatchObject({ code: 0, output: "30 seconds, reached as a.test\n", errorOutput: "" });
  });
});
