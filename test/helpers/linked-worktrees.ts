import { mkdir, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonValue } from "../../shared/json.ts";
import { startTestDaemon } from "./daemon.ts";
import { git } from "./git.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** The text of an in-tree file. `who`: the value of a variable, which waits for trust. */
export const treeTextOf = (domain: string, who = "") => {
  const envvars = who === "" ? {} : { envvars: [{ name: "WHO", value: who }] };
  return `${JSON.stringify({ config: { svc: { domain, ...envvars } } })}\n`;
};

/** A daemon with an in-tree repository, `main`, whose variable is trusted, and a key that may write the values of it. */
export async function startWithWorktrees(options: Parameters<typeof startTestDaemon>[0] = {}) {
  const above = await temporaryFolder();
  const folder = await realpath(above.path);
  const at = (...names: string[]) => join(folder, ...names);
  const t = await startTestDaemon(options);
  const makeClone = async (name: string, text: string) => {
    await mkdir(at(name));
    await git(at(name), "init");
    await writeFile(at(name, ".repoconf.json"), text);
    await git(at(name), "add", "--all");
    await git(at(name), "commit", "-m", "first");
  };
  await makeClone("main", treeTextOf("main.test", "main"));
  await t.owner.call("repo/add", { id: "main", name: "main", path: at("main") });
  const [{ hash = "" } = {}] = (await t.owner.call("trust/list", { repo: "main" })).result;
  await t.owner.call("trust/accept", { repo: "main", field: "svc.envvars", hash });
  const grants = [{ repos: ["main"], fields: ["svc.*"], right: "write" as const }];
  const { key } = (await t.owner.call("key/create", { name: "tool", grants })).result;
  const find = async (name: string) => (await t.owner.call("repo/find", { path: at(name) })).result;
  return {
    t,
    at,
    makeClone,
    find,
    tool: () => t.connect(key),
    /** Adds a linked worktree, whose branch has its own domain, and attaches it. Returns its id. */
    link: async (name: string, who?: string) => {
      await git(at("main"), "worktree", "add", at(name));
      await writeFile(at(name, ".repoconf.json"), treeTextOf(`${name}.test`, who));
      return (await find(name)).id;
    },
    ids: async () => (await t.owner.call("repo/list", {})).result.map(({ id }) => id).sort(),
    setLocal: (name: string, timeout: JsonValue) =>
      t.owner.call("config/set", { path: at(name), "svc.timeout": timeout, layer: "local" }),
    /** What counts for a folder: domain and timeout, or the code of the error. */
    values: async (name: string, client = t.owner) => {
      const { result, errors } = await client.call("config/list", { path: at(name) });
      return errors[0]?.code ?? [result["svc"]?.["domain"], result["svc"]?.["timeout"]];
    },
    [Symbol.asyncDispose]: async () => {
      await t[Symbol.asyncDispose]();
      await above[Symbol.asyncDispose]();
    },
  };
}
