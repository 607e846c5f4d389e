import { once } from "node:events";
import { chmod, mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { openRaw, socketOf } from "../helpers/one-shot.ts";
import { titleWith } from "../helpers/skips.ts";
import { runProcess } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

const has = async (command: string) => (await runProcess(command, ["--version"]).catch(() => undefined))?.code === 0;
const [curl, python] = process.platform === "win32" ? [false, false] : [await has("curl"), await has("python3")];

test.skipIf(process.platform === "win32")(
  "the example in the protocol is answered as it stands, with a key and an id of the home",
  async () => {
    const [, head = "", body = ""] =
      /```text\n(POST [\s\S]*?)\n\n(\{.*\})\n```/.exec(await readFile("docs/protocol.md", "utf8")) ?? [];
    const { repo } = JSON.parse(body);
    // As the daemon makes them: a name would be 1102.
    expect(repo).toMatch(/^[0-9a-f]{24}$/);
    await using t = await startTestDaemon({ repositories: [repo] });
    using raw = await openRaw(await socketOf(t.homeFolder));
    const connection = "Connection: close";
    raw.socket.write([...head.replace("KEY", t.ownerKey).split("\n"), connection, "", body].join("\r\n"));
    expect(await raw.closed()).toMatch(/^HTTP\/1\.1 200 [\s\S]*"timeout":900/);
  },
);

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
    titleWith(curl && python, "curl and python3", "both use the daemon's socket, not one that a killed daemon left"),
    async () => {
      const leftover = join(t.homeFolder, "socket", "00000000");
      const server = createServer().listen(leftover);
      await once(server, "listening");
      const answers = await Promise.all([byCurl(["shop", "33"]), byPython(join(above.path, "shop"), "33")]);
      server.close();
      expect(answers).toMatchObject([
        { code: 0, errorOutput: "" },
        { code: 0, errorOutput: "" },
      ]);
      expect(answers.map(({ output }) => output.includes("33"))).toEqual([true, true]);
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
