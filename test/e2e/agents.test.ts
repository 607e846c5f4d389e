import { exec } from "node:child_process";
import { chmod, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eras, startAgent } from "../helpers/agent.ts";
import {
  addRepositories,
  addScope,
  addShop,
  addShopWithWorktree,
  type CommandHome,
  makeCommandHome,
  makeServedHome,
  makeShop,
  serveHome,
} from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { git } from "../helpers/git.ts";
import { cleanEnvironment, projectFolder, repoconfCommand } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";
import { TestClock } from "../helpers/test-clock.ts";

/** Makes a key of an agent for the shop, and returns the arguments for its server. */
async function keyFor(home: CommandHome, ...options: readonly string[]): Promise<readonly string[]> {
  const { id, key } = await home.json(["key", "create", "claude", "--repo", "shop", "--audited", ...options]);
  await writeFile(join(home.homeFolder, `${id}.key`), `${key}\n`, { mode: 0o600 });
  return ["--key-file", join(home.homeFolder, `${id}.key`)];
}

const writing = ["--right", "write"];

/** Sets up an agent's program. Returns what was printed, and the arguments for the server that the settings have. */
async function setUp(home: CommandHome, program: string, ...options: readonly string[]) {
  const { code, output, errorOutput } = await home.run(["mcp", "--setup", program, ...options]);
  if (code !== 0) throw new Error(errorOutput);
  const file = /--key-file[",'\s]+([^"']+)/.exec(output)?.[1] ?? "";
  return { output, errorOutput, file, args: ["--key-file", file] };
}

describe.each(eras)("the official client, with the protocol %s", (version, options) => {
  test("finds, reads, sets and takes back values, and reads both resources", async () => {
    await using home = await makeShop(["svc.timeout=30", "--reason", "it is slow"], ["svc.envvars.A=hidden"]);
    await using agent = await startAgent(home, [...(await keyFor(home, ...writing)), "--write"], options);
    expect(agent.client.getNegotiatedProtocolVersion()).toBe(version);
    // Neither subscriptions nor prompts.
    expect(agent.client.getServerCapabilities()).toEqual({
      tools: { listChanged: false },
      resources: { listChanged: false },
    });

    const shop = { repository: "shop", isError: false };
    expect(await agent.call("config_find", { query: "become READY" })).toEqual({
      ...shop,
      revision: 3,
      fields: [
        {
          path: "svc.timeout",
          title: "Timeout",
          description: expect.any(String),
          type: "integer",
          limits: { minimum: 0, maximum: 86_400, "x-unit": "seconds" },
          default: 900,
          value: 30,
          from: "this repository",
        },
      ],
    });
    const all = await agent.call("config_find");
    expect(all.fields.length).toBe(20);
    expect(await agent.call("config_get", { fields: ["svc.timeout", "svc.domain"], revision: 1 })).toEqual({
      ...shop,
      revision: 1,
      values: { "svc.timeout": 900, "svc.domain": "" },
    });
    const changes = { "svc.timeout": { from: 900, to: 30 } };
    expect(await agent.call("config_history", { field: "svc.timeout" })).toEqual({
      ...shop,
      revision: 3,
      entries: [{ revision: 2, time: expect.any(String), by: "owner", source: "set", reason: "it is slow", changes }],
    });

    const set = { set: { "svc.timeout": 60, "svc.domain": "a.test" }, reason: "as asked", revision: 3 };
    const values = set.set;
    expect(await agent.call("config_set", { ...set, dryRun: true })).toEqual({
      ...shop,
      revision: 4,
      values,
      dryRun: true,
    });
    expect(await agent.call("config_set", set)).toEqual({ ...shop, revision: 4, values });
    expect(await agent.call("config_set", { unset: ["svc.domain"], reason: "not needed" })).toMatchObject({
      revision: 5,
    });
    // One of its fields has changed since.
    expect(await agent.call("config_undo", { revision: 4, reason: "wrong" })).toMatchObject({
      isError: true,
      revision: 6,
      values: { "svc.timeout": 30 },
      errors: [{ code: 1104, field: "svc.domain" }],
    });
    expect(await home.succeed(["get", "svc.timeout"])).toBe("30\n");
    const [newest] = await home.json(["history"]);
    expect(newest).toMatchObject({ actor: "claude", reason: "wrong" });

    const { resources } = await agent.client.listResources();
    const read = await Promise.all(
      resources.map(async ({ uri }) => (await agent.client.readResource({ uri })).contents[0] ?? {}),
    );
    const [valuesRead, schemasRead] = read.map(content =>
      "text" in content ? JSON.parse(String(content.text)) : undefined,
    );
    expect(valuesRead).toMatchObject({ revision: 6, values: { "svc.timeout": 30 } });
    expect(schemasRead.fields["svc.timeout"]).toMatchObject({ type: "integer" });
    expect(agent.transcript.join("\n")).not.toContain("hidden");
  });
});

describe.each(eras)(
  "a refused call says why, with a code and the next step, with the protocol %s",
  (_version, options) => {
    // What is refused changes nothing, so that all rows share an agent.
    let home: CommandHome;
    let agent: Awaited<ReturnType<typeof startAgent>>;
    beforeAll(async () => {
      home = await makeShop(["svc.timeout=30"]);
      agent = await startAgent(home, [...(await keyFor(home, ...writing)), "--write"], options);
    });
    afterAll(async () => {
      await agent[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    });

    test.each([
      ["an unknown field", "config_get", { fields: ["svc.nope"] }, 1011],
      ["arguments of another form", "config_get", { fields: "svc.timeout" }, 1101],
      ["a revision that does not exist", "config_get", { fields: ["svc.timeout"], revision: 99 }, 1112],
      ["a set without a reason", "config_set", { set: { "svc.timeout": 1 } }, 1101],
      ["a set with an empty reason", "config_set", { set: { "svc.timeout": 1 }, reason: "" }, 1101],
      ["a set with a reason of blanks", "config_set", { set: { "svc.timeout": 1 }, reason: " \n" }, 1101],
      ["a set of nothing", "config_set", { reason: "why" }, 1008],
      ["an option of the operation as a field", "config_set", { set: { repo: "other" }, reason: "why" }, 1011],
      ["an invalid value", "config_set", { set: { "svc.timeout": -1, "svc.domain": "b" }, reason: "why" }, 1103],
      [
        "the mask as a value",
        "config_set",
        { set: { "svc.envvars": [{ name: "A", value: "••••••" }], "svc.timeout": 1 }, reason: "why" },
        1101,
      ],
      ["another revision", "config_set", { set: { "svc.timeout": 1 }, reason: "why", revision: 1 }, 1104],
      ["an undo of somebody else's change", "config_undo", { revision: 2, reason: "why" }, 1112],
      ["an undo of what does not exist", "config_undo", { revision: 99, reason: "why" }, 1112],
    ] as const)("%s", async (_, tool, args, code) => {
      expect(await agent.call(tool, { ...args })).toMatchObject({
        isError: true,
        errors: [{ code, message: expect.any(String) }],
        next: expect.any(String),
      });
      expect(await home.json(["history"])).toHaveLength(2);
    });

    test("a key that may only read sets nothing, and without --write there are no tools for it", async () => {
      await using home = await makeShop();
      const key = await keyFor(home);
      await using reader = await startAgent(home, key, options);
      expect((await reader.client.listTools()).tools.map(({ name }) => name)).toEqual([
        "config_find",
        "config_get",
        "config_history",
      ]);
      const set = { set: { "svc.timeout": 1 }, reason: "why" };
      await expect(reader.call("config_set", set)).rejects.toThrow(/config_set/);
      await using writer = await startAgent(home, [...key, "--write"], options);
      expect(await writer.call("config_set", set)).toMatchObject({ isError: true, errors: [{ code: 1007 }] });
      expect(await home.json(["history"])).toHaveLength(1);
    });

    test("a key that has expired or was revoked, a key file that is missing, and a key that is none of an agent", async () => {
      const clock = new TestClock();
      await using home = await addShop(await serveHome(await makeCommandHome(), { clock }));
      const plain = await home.json(["key", "create", "tool", "--repo", "shop"]);
      const plainFile = join(home.homeFolder, "plain.key");
      await writeFile(plainFile, plain.key);
      const args = await keyFor(home, "--expires", new Date(clock.now() + 3_600_000).toISOString());
      await using agent = await startAgent(home, args, options);
      const ask = async (code: number) =>
        expect(await agent.call("config_find")).toMatchObject({
          isError: true,
          errors: [{ code }],
          next: expect.stringContaining("repoconf mcp --setup"),
        });
      expect(await agent.call("config_find")).toMatchObject({ isError: false });
      clock.advance(3_600_001);
      await ask(1100);
      await home.succeed(["key", "revoke", "claude"]);
      const again = await keyFor(home);
      await writeFile(args[1] ?? "", await readFile(again[1] ?? ""));
      expect(await agent.call("config_find")).toMatchObject({ isError: false });
      await home.succeed(["key", "revoke", "claude"]);
      await ask(1100);
      await writeFile(args[1] ?? "", await readFile(join(home.homeFolder, "owner.key")));
      await ask(1105);
      await writeFile(args[1] ?? "", await readFile(plainFile));
      await ask(1105);
    });

    test("without a key it does not start: never with the owner's", async () => {
      await using home = await makeShop();
      await home.refuse(2, ["mcp"], "An agent gets a key of its own, never the owner's.");
    });
  },
);

test("in a linked worktree, an agent sets local values of that worktree, unless it says shared", async () => {
  await using home = await makeServedHome();
  const [main, linked] = await addShopWithWorktree(home);
  const { args } = await setUp(home, "claude", "--write", "--repo", "shop");
  const reason = "try";
  await using agent = await startAgent(home, [...args, "--write"], undefined, linked);
  const set = (timeout: number, more: object = {}) =>
    agent.call("config_set", { set: { "svc.timeout": timeout }, reason, ...more });
  // All work trees share the values that are in the home.
  expect(await set(1)).toMatchObject({ isError: true, errors: [{ code: 1101 }] });
  expect(await set(2, { layer: "shared" })).toMatchObject({ isError: false, values: { "svc.timeout": 2 } });
  await home.succeed(["repo", "remove", "shop", "--yes"]);
  await home.succeed(["repo", "add", main, "--id", "shop", "--in-tree"]);
  const inTree = join(linked, ".repoconf.json");
  expect(await set(3)).toMatchObject({ isError: false, values: { "svc.timeout": 3 }, local: ["svc.timeout"] });
  await expect(readFile(inTree)).rejects.toThrow("ENOENT");
  await home.succeed(["set", "svc.timeout=4", "--repo", "shop"]);
  expect(await set(5, { layer: "shared" })).toMatchObject({
    values: { "svc.timeout": 5 },
    notCounting: ["svc.timeout"],
  });
  const { fields, revision } = await agent.call("config_find", { query: "svc.timeout" });
  expect(fields).toMatchObject([{ value: 3, from: "local values" }]);
  expect(await agent.call("config_undo", { revision: revision - 1, reason })).toMatchObject({ isError: false });
  expect(await home.succeed(["get", "svc.timeout"], { folder: linked })).toBe("5\n");
  expect(await home.succeed(["get", "svc.timeout", "--repo", "shop"])).toBe("4\n");
});

describe("the repository of an agent whose key is for the shop, which has a linked worktree, and another key's", () => {
  test("is found in its folders, and outside of all; any other work tree or added folder is refused, and nothing is set", async () => {
    await using home = await makeServedHome();
    const at = (...names: string[]) => join(home.workFolder, ...names);
    const makeTree = async (name: string) => {
      await mkdir(at(name, "src"), { recursive: true });
      await git(at(name), "init", "-q");
      await git(at(name), "commit", "-q", "--allow-empty", "-m", "first");
    };
    await makeTree("shop");
    await makeTree("stranger");
    await makeTree("known");
    for (const name of ["added/sub", "checked-in/sub", "outside"]) await mkdir(at(name), { recursive: true });
    await writeFile(at("checked-in", ".repoconf.json"), "{}\n");
    await git(at("shop"), "worktree", "add", "-q", at("linked"));
    await home.succeed(["repo", "add", at("shop"), "--id", "shop", "--in-tree"]);
    const [known, added] = [
      await home.json(["repo", "add", at("known")]),
      await home.json(["repo", "add", at("added")]),
    ];
    const { args } = await setUp(home, "claude", "--write", "--repo", "shop");
    // The worktree is attached.
    await home.succeed(["get", "svc.timeout"], { folder: at("linked") });
    const set = async (folder: string) => {
      await using agent = await startAgent(home, [...args, "--write"], undefined, folder);
      return await agent.call("config_set", { set: { "svc.timeout": 7 }, reason: "why" });
    };
    for (const [folder, repository] of [
      ["shop/src", "shop"],
      ["linked/src", "shop@linked"],
      ["outside", "shop"],
    ] as const) {
      await mkdir(at(folder), { recursive: true });
      expect(await set(at(folder)), folder).toMatchObject({ isError: false, repository });
    }
    const before = await home.json(["history", "--repo", "shop"]);
    for (const folder of ["stranger", "stranger/src", "known", "added", "added/sub", "checked-in", "checked-in/sub"])
      expect(await set(at(folder)), folder).toMatchObject({
        errors: [
          {
            code: 1102,
            message: expect.stringContaining("no repository that this key may use: this key is for shop."),
          },
        ],
        next: expect.stringContaining("repoconf mcp --setup"),
      });
    expect(await home.json(["history", "--repo", "shop"])).toEqual(before);
    for (const { id } of [known, added]) expect(await home.json(["history", "--repo", id])).toHaveLength(1);
    const key = await home.json(["key", "create", "both", "--repo", "shop", "--repo", known.id, "--audited"]);
    await writeFile(args[1] ?? "", key.key);
    expect(await set(at("outside"))).toMatchObject({
      errors: [{ code: 1102, message: expect.stringMatching(/is for (shop, known|known, shop)/) }],
    });
  });
});

test("in a work tree, an agent's change is taken back after edits of the file by hand, except where these changed the same field", async () => {
  await using home = await makeServedHome();
  const file = join(home.workFolder, ".repoconf.json");
  await git(home.workFolder, "init", "-q");
  await home.succeed(["repo", "add", "--id", "shop", "--name", "shop", "--in-tree"]);
  const { args } = await setUp(home, "claude", "--write");
  await using agent = await startAgent(home, [...args, "--write"]);
  const reason = "why";
  const edit = async (from: string, to: string) => writeFile(file, (await readFile(file, "utf8")).replace(from, to));
  const { revision } = await agent.call("config_set", { set: { "svc.timeout": 60, "svc.domain": "a" }, reason });
  await edit('"a"', '"b"');
  expect(await agent.call("config_undo", { revision, reason })).toMatchObject({
    values: { "svc.timeout": 900 },
    errors: [{ code: 1104, field: "svc.domain", message: "It has changed since." }],
  });
  await agent.call("config_set", { set: { "svc.timeout": 61 }, reason });
  await agent.call("config_set", { set: { "svc.timeout": 62 }, reason });
  await edit('"b"', '"c"');
  const undo = ["undo", "--by", "claude-shop", "--since", "1h", "--yes"];
  const undone = await home.run(undo);
  expect(undone.errorOutput).toBe("repoconf: Not changed: shop, svc.domain: It has changed since.\n");
  expect(undone.output).toContain("shop: Restored svc.timeout = 900\n");
  expect(await home.json(["list", "svc", "--stored"])).toEqual({ svc: { domain: "c" } });
});

test("an agent sees and withdraws its own proposals, and reads what was not set, in the repository's name", async () => {
  await using home = await makeServedHome();
  const { id } = await home.json(["repo", "add", home.workFolder, "--name", "shop"]);
  const { args } = await setUp(home, "claude", "--write");
  await using agent = await startAgent(home, [...args, "--write"]);
  const reason = "build it";
  const services = { web: { ready: "true", image: "node:24" } };
  const refused = await agent.call("config_set", { set: { "svc.timeout": 5, "svc.services": services }, reason });
  expect(refused).toMatchObject({ values: {}, notSet: ["svc.timeout", "svc.services"], errors: [{ repo: "shop" }] });
  const [{ details }] = refused.errors;
  expect(details.page).toBe(`repoconf://repo/${id}/svc.services`);
  const part = { set: { "svc.timeout": 5, "svc.default_port": -1 }, reason, atomic: false };
  expect(await agent.call("config_set", part)).toMatchObject({
    values: { "svc.timeout": 5 },
    notSet: ["svc.default_port"],
  });
  const { proposals } = await agent.call("config_history");
  const { proposal } = details;
  expect(proposals).toEqual([
    { proposal, field: "svc.services", value: services, time: expect.any(String), reason, page: details.page },
  ]);
  expect(await agent.call("config_history", { field: "svc.timeout" })).not.toHaveProperty("proposals");
  const wrongs: readonly [wrong: object, code: number][] = [
    [{}, 1101],
    [{ revision: 2, proposal }, 1101],
    [{ proposal: "no such" }, 1112],
    [{ proposal: "no such", dryRun: true }, 1112],
  ];
  for (const [wrong, code] of wrongs)
    expect(await agent.call("config_undo", { ...wrong, reason })).toMatchObject({ isError: true, errors: [{ code }] });
  const withdrawn = { repository: "shop", withdrawn: proposal, field: "svc.services" };
  expect(await agent.call("config_undo", { proposal, reason, dryRun: true })).toMatchObject(withdrawn);
  expect(await agent.call("config_undo", { proposal, reason })).toEqual({ ...withdrawn, isError: false });
  expect(await home.json(["trust"])).toEqual([]);
  await home.succeed(["key", "revoke", "claude-shop"]);
  const reader = await home.json(["key", "create", "claude", "--repo", id, "--audited"]);
  await writeFile(args[1] ?? "", reader.key);
  const [unwritable] = (await agent.call("config_set", { set: { "svc.timeout": 6 }, reason })).errors;
  expect(unwritable).toMatchObject({ code: 1007, message: expect.stringContaining('There is no repository "shop"') });
  await home.succeed(["repo", "remove", id, "--yes"]);
  expect(JSON.stringify((await agent.call("config_find")).errors)).not.toContain(id);
});

test.skipIf(process.platform === "win32")(
  "a key file that others may read is refused, and an input without a message is no error",
  async () => {
    await using home = await makeShop();
    const { args, file } = await setUp(home, "claude");
    await chmod(file, 0o644);
    await using agent = await startAgent(home, args);
    expect(await agent.call("config_find")).toMatchObject({
      errors: [{ code: 1100, message: expect.stringContaining(`chmod 600 '${file}'`) }],
    });
    await chmod(file, 0o600);
    expect(await agent.call("config_find")).toMatchObject({ isError: false });
    const ended = await promisify(exec)(
      `'${process.execPath}' '${repoconfCommand}' mcp --key-file '${file}' < /dev/null`,
      {
        env: { ...cleanEnvironment(), REPOCONF_HOME: home.homeFolder },
      },
    );
    expect(ended).toEqual({ stdout: "", stderr: "" });
    expect(await home.succeed(["mcp", "--help"])).not.toMatch(/, else the owner's key/);
  },
);

describe.each(eras)("a daemon that is away, with the protocol %s", (_version, options) => {
  test("is found again after a restart, and is started by the next call", async () => {
    await using home = await addShop(await makeCommandHome());
    const args = await keyFor(home);
    await using agent = await startAgent(home, args, options);
    expect(await agent.call("config_find")).toMatchObject({ isError: false });
    await home.succeed(["restart"]);
    expect(await agent.call("config_find")).toMatchObject({ isError: false });
    await using other = await startAgent(home, [...args, "--no-start"], options);
    await home.succeed(["stop"]);
    expect(await other.call("config_find")).toMatchObject({ isError: true, errors: [{ code: 1200 }] });
    expect(await agent.call("config_find")).toMatchObject({ isError: false });
  });

  test.skipIf(process.platform === "win32")("a call that the client cancels while it waits sets nothing", async () => {
    await using home = await addShop(await makeCommandHome());
    await using agent = await startAgent(home, [...(await keyFor(home, ...writing)), "--write"], options);
    expect(await agent.call("config_find")).toMatchObject({ isError: false });
    const { pid } = await home.endpoint();
    process.kill(pid, "SIGSTOP");
    try {
      const cancel = new AbortController();
      const set = { set: { "svc.timeout": 1 }, reason: "why" };
      const call = agent.call("config_set", set, cancel.signal);
      cancel.abort("no longer wanted");
      await expect(call).rejects.toThrow("no longer wanted");
      // The server reads one message after the other, so it knows of the cancellation when it answers this.
      await agent.client.listTools();
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await agent.call("config_find");
    // The cancelled call, which had begun before that one, has ended too.
    await until(async () => (await home.json(["key", "list"]))[0].connections === 0, "the call to end");
    expect(await home.json(["history"])).toHaveLength(1);
  });
});

describe("repoconf mcp --setup", () => {
  test.each([
    ["claude", /^claude mcp add repoconf -- '[^']+' '[^']+repoconf.js' 'mcp' '--key-file' /],
    ["codex", /^\[mcp_servers.repoconf\]\ncommand = "[^"]+"\nargs = \["[^"]+repoconf.js","mcp","--key-file",/],
    ["vscode", /^\{\n {2}"servers": \{\n {4}"repoconf": \{\n {6}"type": "stdio",\n {6}"command": "/],
    ["cursor", /^\{\n {2}"mcpServers": \{\n {4}"repoconf": \{\n {6}"command": "/],
  ])(
    "%s: prints its settings with the path of a key that may read this repository, for 30 days",
    async (program, form) => {
      await using home = await makeShop();
      await addRepositories(home, "other");
      const { output, errorOutput, file } = await setUp(home, program);
      expect(output).toMatch(form);
      expect(output).toContain(home.homeFolder);
      expect(file).toBe(join(home.homeFolder, "agents", `${program}-shop.key`));
      const key = (await readFile(file, "utf8")).trim();
      expect(`${output}${errorOutput}`).not.toContain(key);
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      expect((await stat(dirname(file))).mode & 0o777).toBe(0o700);
      const [listed] = await home.json(["key", "list"]);
      expect(listed).toMatchObject({
        name: `${program}-shop`,
        audited: true,
        grants: [{ repos: ["shop"], fields: ["*"], right: "read" }],
      });
      expect(Math.round((Date.parse(listed.expires) - Date.parse(listed.createdAt)) / 86_400_000)).toBe(30);
    },
  );

  test("its settings start a server that works in any folder; again, it replaces the key, now one that writes", async () => {
    await using home = await makeShop();
    await using folder = await temporaryFolder();
    const reader = await setUp(home, "vscode");
    const writer = await setUp(home, "vscode", "--write");
    expect(writer.errorOutput).toContain("Revoked the key ");
    expect(writer.output).toContain('"--write"');
    expect(await home.json(["key", "list"])).toMatchObject([{ name: "vscode-shop", grants: [{ right: "write" }] }]);
    expect(reader.file).toBe(writer.file);
    await using agent = await startAgent(home, [...writer.args, "--write"], undefined, folder.path);
    const set = { set: { "svc.timeout": 7 }, reason: "why" };
    expect(await agent.call("config_set", set)).toMatchObject({ isError: false, repository: "shop" });
    const audit = await readFile(join(home.homeFolder, "audit.log"), "utf8");
    expect(audit).toContain('"operationsAsked"');
  });

  test("in a linked worktree it is for the repository; after changes the next key has another name, for the same settings", async () => {
    await using home = await makeServedHome();
    const [main, linked] = await addShopWithWorktree(home, "--name", "shop", "--in-tree");
    const setUpHere = () => home.run(["mcp", "--setup", "claude", "--write"], { folder: linked });
    const first = await setUpHere();
    expect(first).toMatchObject({ code: 0, errorOutput: expect.not.stringContaining("\\n") });
    expect(first.errorOutput).toMatch(/\nTo take back what it changed: repoconf undo --by claude-shop --since 1h\n$/);
    const [key] = await home.json(["key", "list"]);
    expect(key).toMatchObject({ name: "claude-shop", grants: [{ repos: ["shop"] }] });
    const file = join(home.homeFolder, "agents", "claude-shop.key");
    const change = async (timeout: number) => {
      await using agent = await startAgent(home, ["--key-file", file, "--write"], undefined, main);
      return await agent.call("config_set", { set: { "svc.timeout": timeout }, reason: "why" });
    };
    expect(await change(5)).toMatchObject({ isError: false, repository: "shop" });
    for (const name of ["claude-shop-2", "claude-shop-2"]) {
      expect((await setUpHere()).output).toBe(first.output);
      expect(await home.json(["key", "list"])).toMatchObject([{ name }]);
    }
    await home.succeed(["key", "revoke", "claude-shop-2"]);
    await setUpHere();
    await change(6);
    const by = (name: string) => home.succeed(["undo", "--by", name, "--since", "1h", "--yes", "--json"]);
    expect(await home.json(["key", "list"])).toMatchObject([{ name: "claude-shop-2" }]);
    await by("claude-shop-2");
    expect(await home.succeed(["get", "svc.timeout", "--repo", "shop"])).toBe("5\n");
    await by("claude-shop");
    expect(await home.succeed(["get", "svc.timeout", "--repo", "shop"])).toBe("900\n");
  });

  test("a key of a person that has the name stays, and a link in the place of the file is replaced, not followed", async () => {
    await using home = await makeShop();
    await home.json(["key", "create", "claude-shop", "--repo", "shop"]);
    await mkdir(join(home.homeFolder, "agents"));
    await home.succeed(["repo", "rename", "shop", "Shop of Ann"]);
    const target = join(home.workFolder, "target");
    await symlink(target, join(home.homeFolder, "agents/claude-Shop-of-Ann.key"));
    await setUp(home, "claude");
    await home.succeed(["repo", "rename", "shop", "shop"]);
    await setUp(home, "claude");
    const names = (await home.json(["key", "list"])).map(({ name }: { name: string }) => name).sort();
    expect(names).toEqual(["claude-Shop-of-Ann", "claude-shop", "claude-shop-shop"]);
    await expect(readFile(target)).rejects.toThrow("ENOENT");
  });
});

describe("repoconf undo --by", () => {
  /** Two repositories, and a key that sets fields of both. */
  async function makeChanges() {
    const home = await makeShop(["svc.timeout=30"], ["svc.refresh_hour=1"]);
    await addRepositories(home, "blog");
    const makeKey = async () => {
      const { id, key } = await home.json(["key", "create", "claude", "--right", "write"]);
      return {
        id,
        set: (repo: string, ...fields: string[]) =>
          home.succeed(["set", "--repo", repo, ...fields], { environment: { REPOCONF_API_KEY: key } }),
      };
    };
    const first = await makeKey();
    await first.set("shop", "svc.timeout=60", "svc.refresh_hour=2");
    await first.set("blog", "svc.timeout=61");
    await first.set("shop", "svc.timeout=62");
    await home.succeed(["set", "--repo", "shop", "svc.refresh_hour=3"]);
    const values = async () => {
      const read = (repo: string) => home.json(["list", "svc", "--stored", "--repo", repo]);
      return [await read("shop"), await read("blog")].map(({ svc }) => svc);
    };
    return { home, first, makeKey, values };
  }

  test("shows all that a key changed and takes it back as one, except what was changed since", async () => {
    const { home, first, values } = await makeChanges();
    await using _ = home;
    const asked = await home.run(["undo", "--by", "claude", "--since", "1h"]);
    expect(asked).toMatchObject({ code: 1, output: "" });
    expect(asked.errorOutput).toContain(`What the key claude (${first.id}) changed, 3 revisions, the last one at `);
    expect(asked.errorOutput).toContain("shop: svc.timeout: 62 -> 30\n");
    expect(asked.errorOutput).toContain("blog: svc.timeout: 61 -> 900\n");
    expect(asked.errorOutput).toContain("Not changed: shop, svc.refresh_hour: It has changed since.\n");
    const before = await values();
    const dry = await home.run(["undo", "--by", first.id, "--since", "1h", "--dry-run", "--json"]);
    expect(JSON.parse(dry.output)).toMatchObject({ undone: first.id, left: [{ repo: "shop" }] });
    expect(await values()).toEqual(before);
    const undone = await home.run(["undo", "--by", "claude", "--since", "1h", "--yes"]);
    expect(undone).toMatchObject({ code: 3, errorOutput: expect.stringContaining("It has changed since.") });
    expect(await values()).toEqual([{ refresh_hour: 3, timeout: 30 }, {}]);
    const [newest] = await home.json(["history", "--repo", "shop"]);
    expect(newest).toMatchObject({ actor: "owner", reason: "undo of the changes of claude" });
    // It was one change of both repositories.
    await home.succeed(["undo", "--batch", newest.batch, "--yes"]);
    expect(await values()).toEqual(before);
  });

  test("works by a name after the key was revoked, but not by a name that two keys had", async () => {
    const { home, first, makeKey, values } = await makeChanges();
    await using _ = home;
    await home.succeed(["key", "revoke", "claude"]);
    const dry = await home.run(["undo", "--by", "claude", "--since", "1h", "--dry-run"]);
    expect(dry.output).toContain("shop: svc.timeout: 62 -> 30\n");
    const second = await makeKey();
    const by = (name: string) => ["undo", "--by", name, "--since", "1h", "--yes"];
    await home.refuse(3, by("claude"), /"claude" names 2 keys.*Use an id: /);
    await home.refuse(3, by(second.id), "has changed nothing since then");
    await second.set("blog", "svc.timeout=70");
    await home.succeed(by(second.id));
    expect(await values()).toMatchObject([{ timeout: 62 }, { timeout: 61 }]);
    expect(await home.run(by(first.id))).toMatchObject({ code: 3 });
    expect(await values()).toMatchObject([{ timeout: 30 }, {}]);
  });

  const refused = [
    [["--by", "nobody", "--since", "1h"], 3, 'No key is called "nobody"'],
    [["--by", "owner", "--since", "1h"], 3, 'No key is called "owner"'],
    [["--by", "claude"], 2, "--by and --since belong together"],
    [["--since", "1h"], 2, "--by and --since belong together"],
    [["--by", "claude", "--since", "1h by:x"], 2, "--by and --since belong together"],
    [["--by", "claude", "--since", "soon"], 1, "since: needs days, hours, minutes or a date"],
    [["--by", "claude", "--since", "1h", "--to", "1"], 2, "cannot be used with"],
  ] as const;
  test("is refused for what is no key, and for options that do not belong together", async () => {
    await using home = await makeShop();
    for (const [args, code, said] of refused) await home.refuse(code, ["undo", ...args], said);
  });
});

test("what the tools' definitions cost in every conversation", async () => {
  await using home = await makeShop();
  await using agent = await startAgent(home, [...(await keyFor(home)), "--write"]);
  const { tools } = await agent.client.listTools();
  expect(tools).toHaveLength(5);
  expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThan(5_000);
  // Nor do answers grow without end.
  const names = Array.from({ length: 60 }, (_, index) => `field_${index}`);
  const text = { type: "string", default: "" };
  await addScope(home, "many", Object.fromEntries(names.map(name => [name, text])));
  const found = await agent.call("config_find", { query: "many" });
  expect([found.fields.length, found.more]).toEqual([50, 10]);
  // Nor are they of use to somebody who reads them: what a masked field has by default is masked, too.
  await addScope(home, "vault", { token: { ...text, default: "hunter2", "x-masked": true } });
  const { fields } = await agent.call("config_find", { query: "vault.token" });
  expect(fields).toMatchObject([{ path: "vault.token", default: "••••••", value: "••••••", from: "default" }]);
});

test("docs/agents.md: its session is what the official client records", async () => {
  await using home = await makeShop(
    ["svc.envvars.TOKEN=a-secret"],
    ["svc.timeout=30", "--reason", "the database is small"],
  );
  await using agent = await startAgent(home, [...(await setUp(home, "claude", "--write")).args, "--write"]);
  const recorded: string[] = [];
  for (const [tool, args] of [
    ["config_find", { query: "become ready" }],
    ["config_history", { field: "svc.timeout" }],
    ["config_set", { set: { "svc.timeout": -1 }, reason: "the import waits for ever", revision: 3 }],
    ["config_set", { set: { "svc.timeout": 60 }, reason: "the import takes 45 seconds", revision: 3 }],
    ["config_get", { fields: ["svc.timeout", "svc.envvars"] }],
    [
      "config_set",
      { set: { "svc.services": { web: { ready: "curl localhost", image: "node:24" } } }, reason: "a web service" },
    ],
    ["config_undo", { revision: 4, reason: "the import is faster now" }],
  ] as const) {
    const { isError, ...answer } = await agent.call(tool, { ...args });
    recorded.push(`${tool} ${JSON.stringify(args)}`, JSON.stringify(answer), "");
  }
  const plain = (text: string) => text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME").replace(/\b[0-9a-f]{12}\b/g, "ID");
  const document = await readFile(join(projectFolder, "docs/agents.md"), "utf8");
  const [, shown] = /<!-- session begin -->\n```text\n([\s\S]*?)```\n<!-- session end -->/.exec(document) ?? [];
  expect(plain(shown ?? "")).toBe(plain(`${recorded.join("\n").trim()}\n`));
});
