import { mkdir, readdir, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { socketOf } from "../../helpers/one-shot.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const onUnix = process.platform !== "win32";

/** The folders that a shell sees as added, below this one. */
async function marksIn(home: string, top: string): Promise<string[]> {
  const entries = await readdir(join(home, "folders"), { recursive: true, withFileTypes: true }).catch(() => []);
  const marked = entries.filter(entry => entry.name === ".repoconf-added").map(entry => entry.parentPath);
  return marked.map(path => path.slice(join(home, "folders", top).length + 1)).sort();
}

async function linesFor(t: TestDaemon, path: string, shell = "bash"): Promise<string> {
  const { result, errors } = await t.owner.call("config/hook", { path, shell });
  expect(errors).toEqual([]);
  return result;
}

test.runIf(onUnix)(
  "a mark for each added folder is there when the reply is, and none for others; a start repairs them",
  async () => {
    await using above = await temporaryFolder();
    const top = await realpath(above.path);
    const at = (path: string) => join(top, path);
    for (const path of ["one", "two/inner", "real", "three"]) await mkdir(at(path), { recursive: true });
    await symlink("real", at("link"));
    const home = at("home");
    {
      await using t = await startTestDaemon({ home });
      await until(async () => (await readdir(home)).includes("folders"), "the tree of marks");
      const add = (id: string, path: string) => t.owner.call("repo/add", { id, name: id, path: at(path) });
      await add("one", "one");
      await add("two-inner", "two/inner");
      expect(await marksIn(home, top)).toEqual(["one", "two/inner"]);
      await add("link", "link");
      // Where links lead is found out behind the reply.
      await until(async () => (await marksIn(home, top)).join() === "one,real,two/inner", "the real folder's mark");
      await t.owner.call("repo/update", { repo: "two-inner", path: at("three") });
      expect(await marksIn(home, top)).toEqual(["one", "real", "three"]);
      await t.owner.call("repo/remove", { repo: "one" });
      expect(await marksIn(home, top)).toEqual(["real", "three"]);
    }
    await rm(join(home, "folders", at("three")), { recursive: true });
    await mkdir(join(home, "folders", at("stranger")), { recursive: true });
    await writeFile(join(home, "folders", at("stranger"), ".repoconf-added"), "");
    {
      await using _t = await startTestDaemon({ home });
      await until(async () => (await marksIn(home, top)).join() === "real,three", "the marks to be repaired");
    }
    // As in a home of an earlier version: shells see none before all are there.
    await rename(join(home, "folders"), at("aside"));
    await using _t = await startTestDaemon({ home });
    await until(async () => (await readdir(home)).includes("folders"), "the marks");
    expect(await marksIn(home, top)).toEqual(["real", "three"]);
  },
);

test("config/hook answers with the variables and the files of the repository that contains a folder, and with nothing outside", async () => {
  await using above = await temporaryFolder();
  const folder = await realpath(above.path);
  await using t = await startTestDaemon();
  await mkdir(join(folder, "src"));
  await t.owner.call("repo/add", { id: "shop", name: "shop", path: folder });
  const of = (value: string) => t.owner.call("config/set", { repo: "shop", "svc.envvars": [{ name: "A", value }] });
  await of("it's");
  for (const path of [folder, join(folder, "src"), join(folder, "missing")]) {
    const lines = (await linesFor(t, path, "zsh")).split("\n");
    expect(lines).toContain("__repoconf_set 'A' 'it'\\''s'");
    expect(await linesFor(t, path, "pwsh")).toContain("\n__repoconf_set 'A' 'it''s'\n");
    expect(lines).toContain("__repoconf_at 'shop'");
    expect(lines.filter(line => line.startsWith("__repoconf_watch")).map(line => line.split("'")[1])).toEqual([
      join(t.homeFolder, "repos/shop.json"),
      join(t.homeFolder, "local/shop.json"),
      join(t.homeFolder, "settings.json"),
    ]);
    expect(lines.slice(-2)).toEqual(["__repoconf_made=1", ""]);
  }
  expect(await linesFor(t, "/")).toBe("__repoconf_at ''\n__repoconf_made=1\n");
  // A secret is for the command, in the environment of the shell; and no control character gets to the terminal.
  await of("cmd://pass/a");
  expect(await linesFor(t, folder)).toContain("\n__repoconf_needs_command=1\n");
  await t.owner.call("config/set", { repo: "shop", "svc.envvars": [{ name: "REPOCONF_HOOK_A", value: "" }] });
  expect(await linesFor(t, folder)).toContain("__repoconf_note 'REPOCONF_HOOK_A is reserved for the hook.");
});

test("config/hook sees an edit of the file that the daemon was not told of", async () => {
  await using above = await temporaryFolder();
  const folder = await realpath(above.path);
  await using t = await startTestDaemon();
  const file = join(folder, ".repoconf.json");
  const write = (value: string) =>
    writeFile(file, JSON.stringify({ config: { svc: { envvars: [{ name: "A", value }] } } }));
  await write("1");
  await t.owner.call("repo/add", { id: "shop", name: "shop", path: folder });
  for (const value of ["2", "3", "4"]) {
    await write(value);
    const lines = await linesFor(t, folder);
    expect(lines).toContain(`"value":"${value}"`);
    // It waits for trust: no earlier value is told beside the new text.
    expect(lines).not.toContain("__repoconf_set");
    expect(lines).toContain("repoconf trust --repo shop");
  }
});

test.runIf(onUnix)(
  "with Accept: text/plain, a one-shot request is answered with the text alone, and a failure with JSON",
  async () => {
    await using t = await startTestDaemon({ repositories: ["shop"] });
    const socketPath = await socketOf(t.homeFolder);
    const ask = (name: string, args: object, accept: string) =>
      new Promise<readonly [status: number | undefined, type: string | undefined, text: string]>((resolve, reject) => {
        const headers = { Authorization: `Bearer ${t.ownerKey}`, "Content-Type": "application/json", Accept: accept };
        const sent = request({ socketPath, path: `/svc/${name}`, method: "POST", headers }, response => {
          let text = "";
          response.setEncoding("utf8").on("data", (part: string) => {
            text += part;
          });
          response.on("end", () => resolve([response.statusCode, response.headers["content-type"], text]));
        });
        sent.on("error", reject);
        sent.end(JSON.stringify(args));
      });
    const args = { path: "/", shell: "bash" };
    const text = "__repoconf_at ''\n__repoconf_made=1\n";
    expect(await ask("config/hook", args, "text/plain")).toEqual([200, "text/plain; charset=utf-8", text]);
    for (const [name, given, accept, status] of [
      ["config/hook", args, "*/*", 200],
      ["config/hook", { path: "/" }, "text/plain", 400],
      ["config/list", { repo: "shop" }, "text/plain", 200],
      ["key/self", {}, "text/plain", 200],
    ] as const) {
      const [code, type, body] = await ask(name, given, accept);
      expect([code, type]).toEqual([status, "application/json"]);
      expect(Object.keys(JSON.parse(body))).toEqual(expect.arrayContaining(["result", "errors"]));
    }
  },
);
