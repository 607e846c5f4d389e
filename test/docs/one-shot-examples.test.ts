import { chmod, mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { titleWith } from "../helpers/skips.ts";
import { runProcess } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const has = async (command: string) => (await runProcess(command, ["--version"]).catch(() => undefined))?.code === 0;
const [curl, python] = process.platform === "win32" ? [false, false] : [await has("curl"), await has("python3")];

describe("the examples of one-shot requests in the guide to a tool of your own", () => {
  let t: TestDaemon;
  let above: Awaited<ReturnType<typeof temporaryFolder>>;
  beforeAll(async () => {
    t = await startTestDaemon();
    above = await temporaryFolder();
    await mkdir(join(above.path, "shop", "below"), { recursive: true });
    await t.owner.call("repo/add", { id: "shop", name: "shop", path: join(above.path, "shop") });
  });
  afterAll(async () => {
    await t[Symbol.asyncDispose]();
    await above[Symbol.asyncDispose]();
  });
  const byCurl = (args: readonly string[], environment = {}) =>
    runProcess("sh", ["examples/post.sh", t.homeFolder, ...args], { environment });
  const byPython = (...args: string[]) => runProcess("python3", ["examples/post.py", t.homeFolder, ...args]);

  test.runIf(curl)(titleWith(curl, "curl", "curl sets and reads, and gets no key as an argument"), async () => {
    const log = join(above.path, "arguments");
    const bin = join(above.path, "bin");
    await mkdir(bin);
    const real = (await runProcess("sh", ["-c", "command -v curl"])).output.trim();
    await writeFile(join(bin, "curl"), `#!/bin/sh\nprintf '%s\\n' "$@" >>'${log}'\nexec '${real}' "$@"\n`, {
      mode: 0o700,
    });
    // A proxy would get the request, and its key.
    const environment = { PATH: `${bin}:${process.env["PATH"]}`, http_proxy: "http://127.0.0.1:1" };
    const { code, output, errorOutput } = await byCurl(["shop", "31"], environment);
    expect([code, errorOutput]).toEqual([0, ""]);
    const [set, list] = output
      .trim()
      .split("\n")
      .map(line => JSON.parse(line));
    expect(set).toMatchObject({ result: [{ repo: "shop" }], errors: [] });
    expect(list).toMatchObject({ result: { svc: { timeout: 31 } }, errors: [] });
    expect(await readFile(log, "utf8")).toContain("/svc/config/set");
    expect(await readFile(log, "utf8")).not.toContain("repoconf_");
    const wrong = await byCurl(["shop"], { REPOCONF_API_KEY: "wrong" });
    expect(JSON.parse(wrong.output.split("\n")[0] ?? "")).toMatchObject({ errors: [{ code: 1100 }] });
  });

  test.runIf(python)(
    titleWith(python, "python3", "Python's standard library sets and reads by a folder, and tells of errors"),
    async () => {
      const below = join(above.path, "shop", "below");
      expect(await byPython(below, "32")).toMatchObject({ code: 0, output: "shop: 32 seconds\n", errorOutput: "" });
      expect(await byPython(below, "-1")).toMatchObject({
        code: 1,
        errorOutput: expect.stringMatching(/^1103 Invalid/),
      });
      expect(await byPython(above.path)).toMatchObject({
        code: 1,
        errorOutput: expect.stringMatching(/^1102 Unknown/),
      });
    },
  );

  test.runIf(curl && python)(
    titleWith(curl && python, "curl and python3", "neither sends a key into a folder that is not private"),
    async () => {
      const folder = join(t.homeFolder, "socket");
      const refused = { code: 1, output: "", errorOutput: expect.stringContaining("only you can enter") };
      await chmod(folder, 0o755);
      expect([await byCurl(["shop"]), await byPython(above.path)]).toEqual([refused, refused]);
      await chmod(folder, 0o700);
      await rename(folder, `${folder}.real`);
      await symlink(`${folder}.real`, folder);
      expect([await byCurl(["shop"]), await byPython(above.path)]).toEqual([refused, refused]);
    },
  );
});
