import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import { type CommandHome, makeCommandHome, serveHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { isReplaced, systemError, watchFileSystem } from "../helpers/file-system.ts";
import { askServers, describeWithNats, startNatsServer } from "../helpers/nats-server.ts";
import { makeSharedWorld } from "../helpers/shared-world.ts";
import { runRepoconf, spawnDaemon } from "../helpers/spawned-daemon.ts";

/** Writes the log's address into the settings, as a person does, so that every command finds it. */
const follow = (home: CommandHome, address: string, machine: string) =>
  home.put("settings.json", { log: { address, machine } });

/** Edits its file by hand, once it is there. */
async function makeFavourite(home: CommandHome, repo: string): Promise<void> {
  const text = await readFile(join(home.homeFolder, `repos/${repo}.json`), "utf8");
  await home.put(`repos/${repo}.json`, text.replace("{", '{ "favourite": true,'));
  await until(async () => (await home.succeed(["repo", "list", "--json"])).includes("favourite"), "the edit by hand");
}

describeWithNats("commands on machines that share a log", () => {
  test("move a home there with its history, join it, and show who changed what on which machine", async () => {
    await using server = await startNatsServer();
    const address = `${server.url}/team`;
    await using laptop = await makeCommandHome();
    await using desk = await makeCommandHome();
    await laptop.succeed(["repo", "add", ".", "--id", "shop"]);
    await laptop.succeed(["set", "--repo", "shop", "svc.timeout=41"]);
    await laptop.put("settings.json", '{\n  // how much\n  "history": {"revisions": 100}\n}');
    // The daemon is stopped, and runs again at the end; also if nothing could be copied.
    await laptop.refuse(1, ["log", "copy", "--to", "nats://127.0.0.1:1/team"], "cannot be used");
    expect(await laptop.succeed(["status"])).toContain("repositories  1");
    expect(await laptop.succeed(["log", "copy", "--to", address])).toMatch(/1 repository.*\n.*is running at/);
    expect(await laptop.succeed(["get", "--repo", "shop", "svc.timeout"])).toBe("41\n");
    await follow(desk, address, "desk");
    expect(await desk.succeed(["get", "--repo", "shop", "svc.timeout"])).toBe("41\n");
    await desk.succeed(["set", "--repo", "shop", "svc.timeout=42"]);
    const isSet = async () => (await laptop.succeed(["get", "--repo", "shop", "svc.timeout"])) === "42\n";
    await until(isSet, "the set of the other machine");
    expect(await laptop.succeed(["history", "--repo", "shop"])).toContain("on desk (set)");
    await server.kill();
    await until(async () => (await laptop.succeed(["status"])).includes("cannot be reached"), "the problem");
    expect(await laptop.find(1, ["doctor"])).toContain("cannot be reached");
    await laptop.refuse(1, ["log", "copy", "--from", address], "cannot be reached");
    await server.start();
    const isBack = async () => !(await desk.succeed(["status"])).includes("cannot be reached");
    await until(isBack, "the server on the other machine");
    // As if its disk had lost a change that it had read.
    await laptop.succeed(["stop"]);
    await desk.succeed(["set", "--repo", "shop", "svc.domain=example.org"]);
    await desk.succeed(["stop"]);
    const [own, later] = [laptop, desk].map(({ homeFolder }) => join(homeFolder, "log/stream.json"));
    const before = await readFile(own ?? "", "utf8");
    await laptop.put("log/stream.json", await readFile(later ?? "", "utf8"));
    await laptop.refuse(1, ["log", "copy", "--from", address], "shop differs between");
    await laptop.put("log/stream.json", before);
    expect(await laptop.succeed(["log", "copy", "--from", address])).toMatch(/1 repository.*\n.*is running at/);
    expect(await readFile(join(laptop.homeFolder, "settings.json"), "utf8")).toBe(
      '{\n  // how much\n  "history": {"revisions": 100}\n}',
    );
    await desk.succeed(["set", "--repo", "shop", "svc.timeout=4321"]);
    expect(await laptop.succeed(["get", "--repo", "shop", "svc.timeout"])).toBe("42\n");
    // It is shown who made a change, also after a way back, and in another log.
    const other = `${server.url}/other`;
    for (const args of [["status"], ["log", "copy", "--to", other]]) {
      await laptop.succeed(args);
      const shown = await laptop.succeed(["history", "--repo", "shop"]);
      expect([shown.includes("on desk (set)"), shown.includes("4321")]).toEqual([true, false]);
    }
  });

  test("put a home back on a log that has lost changes, and keep aside and tell what only that home had", async () => {
    await using server = await startNatsServer();
    await using laptop = await makeCommandHome();
    await follow(laptop, `${server.url}/team`, "laptop");
    await laptop.succeed(["repo", "add", ".", "--id", "shop"]);
    await laptop.succeed(["set", "--repo", "shop", "svc.timeout=41"]);
    await makeFavourite(laptop, "shop");
    const [data, copy] = [join(server.folder, "data"), join(server.folder, "copy")];
    await server.kill();
    await cp(data, copy, { recursive: true });
    await server.start();
    const isDone = async (args: readonly string[]) => (await laptop.run(args)).code === 0;
    await until(() => isDone(["set", "--repo", "shop", "svc.timeout=42"]), "the server");
    await laptop.succeed(["repo", "add", server.folder, "--id", "extra", "--name", "Extra tools"]);
    await server.kill();
    await rm(data, { recursive: true });
    await laptop.refuse(1, ["log", "rejoin"], "cannot be reached");
    await cp(copy, data, { recursive: true });
    await server.start();
    await until(async () => (await laptop.succeed(["status"])).includes("repoconf log rejoin"), "the problem");
    await laptop.refuse(1, ["set", "--repo", "shop", "svc.timeout=43"], "lost changes");
    const said = await laptop.succeed(["log", "rejoin"]);
    expect(said).toMatch(
      /which has 1 repository.*Only this machine had Extra tools: repos.extra.*in repoconf-cli-\w+: svc\.timeout\n.*is running/s,
    );
    expect(await laptop.succeed(["get", "svc.timeout"])).toBe("41\n");
    const before = /is in (?<before>.*)/.exec(said)?.groups?.["before"] ?? "";
    expect(await readFile(join(before, "repos/shop.json"), "utf8")).toContain("42");
    expect(await laptop.json(["repo", "list"])).toMatchObject([{ id: "shop", favourite: true }]);
    await laptop.succeed(["set", "svc.timeout=44"]);
    expect(await laptop.succeed(["log", "rejoin"])).toContain("Nothing was changed");
    expect(await laptop.succeed(["history", "--repo", "shop"])).toContain("44");
  });

  test("say that nobody can read a log with a message on which the servers never agreed, and how one machine begins another log", async () => {
    await using server = await startNatsServer();
    await using laptop = await makeCommandHome();
    await follow(laptop, `${server.url}/team`, "laptop");
    await laptop.succeed(["repo", "add", ".", "--id", "shop"]);
    await laptop.succeed(["set", "svc.timeout=41"]);
    const connection = await connect({ servers: server.url });
    const { streams } = await jetstreamManager(connection);
    const { last_seq: seq } = (await streams.info("team")).state;
    const last = await streams.getMessage("team", { seq });
    const content = { ...last?.json<object>(), first: seq + 1, previous: "another" };
    await connection.request("repoconf.team", JSON.stringify(content));
    await connection.close();
    await until(async () => (await laptop.succeed(["status"])).includes("repoconf log rejoin"), "the problem");
    const { errorOutput } = await laptop.run(["log", "rejoin"]);
    expect(errorOutput).toMatch(/does not follow.*step-down.*log copy --to ADDRESS/);
    expect(errorOutput).not.toContain("log rejoin");
    await laptop.succeed(["stop"]);
    await rm(join(laptop.homeFolder, "log/stream.json"));
    await laptop.put("settings.json", {});
    expect(await laptop.succeed(["log", "copy", "--to", `${server.url}/again`])).toContain("1 repository");
    await using desk = await makeCommandHome();
    await follow(desk, `${server.url}/again`, "desk");
    expect(await desk.succeed(["get", "--repo", "shop", "svc.timeout"])).toBe("41\n");
    await laptop.succeed(["set", "svc.timeout=42"]);
  });

  test("say in one line that log/stream.json is damaged, and what to do; values are served, and rejoin repairs it", async () => {
    await using world = await makeSharedWorld();
    await using home = await makeCommandHome();
    await follow(home, world.address, "laptop");
    await home.succeed(["repo", "add", ".", "--id", "shop"]);
    await home.succeed(["set", "--repo", "shop", "svc.timeout=41"]);
    const path = join(home.homeFolder, "log/stream.json");
    const sound = await readFile(path, "utf8");
    for (const text of [sound.replace('"message"', '"text"'), undefined]) {
      await home.succeed(["stop"]);
      await rm(path);
      if (text === undefined) await mkdir(path);
      else await writeFile(path, text);
      await home.succeed(["restart"]);
      expect(await home.succeed(["status"])).toMatch(
        /^problem +\S+stream\.json, .* is damaged\. .*repoconf log rejoin$/m,
      );
      expect(await home.succeed(["get", "svc.timeout"])).toBe("41\n");
      await home.refuse(1, ["set", "svc.timeout=42"], /^repoconf: .*is damaged.*rejoin.*\n$/);
      expect(await home.succeed(["log", "rejoin"])).toContain("is back on");
      expect(await home.succeed(["get", "svc.timeout"])).toBe("41\n");
      await home.succeed(["set", "svc.timeout=41"]);
    }
  });

  test("say that the machine is behind, that too few servers store each change, and that the file of what is added waits", async () => {
    await using world = await makeSharedWorld();
    await using desk = await world.start("desk");
    await using home = await makeCommandHome();
    await home.put("settings.json", { log: { address: world.address, machine: "laptop", replicas: 3 } });
    const fileSystem = watchFileSystem();
    await using laptop = await serveHome(home, { fileSystem });
    const isHeld = Promise.withResolvers<void>();
    fileSystem.before = ({ path }) => (path.includes("held") ? isHeld.promise : undefined);
    for (const id of ["held", "shop"]) await desk.addRepository(id);
    const isBehind = (text: string) => text.includes("of the shared log team behind");
    await until(async () => isBehind(await laptop.succeed(["status"])), "the problem");
    const found = await laptop.find(1, ["doctor"]);
    expect(isBehind(found)).toBe(true);
    expect(found).toContain("is stored on 1 of the 3 servers");
    expect(await laptop.succeed(["status"])).toContain("is stored on 1 of the 3 servers");
    isHeld.resolve();
    await until(async () => !isBehind(await laptop.succeed(["status"])), "it to be over");
    fileSystem.before = call => {
      if (isReplaced("site")(call)) throw systemError("EIO");
    };
    const added = { code: 0, errorOutput: expect.stringContaining("site.json cannot be written (EIO)") };
    expect(await laptop.run(["repo", "add", ".", "--id", "site"])).toMatchObject(added);
  });

  test.each(["SIGTERM", "stop"])(
    "end a daemon that has diverged, with edits that wait, by %s: its home is free, and they are kept",
    async how => {
      await using server = await startNatsServer();
      const folder = join(server.folder, "home");
      await mkdir(folder, { mode: 0o700 });
      const address = `${server.url}/team`;
      await writeFile(join(folder, "settings.json"), JSON.stringify({ log: { address, machine: "laptop" } }));
      await using daemon = await spawnDaemon(["--port", "0"], folder);
      const run = (...args: string[]) => runRepoconf([...args, "--home", folder]);
      expect(await run("repo", "add", server.folder, "--id", "shop")).toMatchObject({ code: 0 });
      const file = join(folder, "repos/shop.json");
      await until(async () => (await readFile(file, "utf8").catch(() => "")) !== "", "its file");
      await askServers([`127.0.0.1:${server.port}`], async ({ streams }) => {
        await streams.delete("team");
        await streams.add({ name: "team", subjects: ["repoconf.team"] });
      });
      await until(async () => (await run("status")).output.includes("repoconf log rejoin"), "the problem");
      const refused = await run("set", "--repo", "shop", "svc.timeout=41");
      expect(refused).toMatchObject({ code: 1, errorOutput: expect.stringContaining("created again") });
      const edited = (await readFile(file, "utf8")).replace('"config": {', '"config": { "svc": { "timeout": 42 }');
      await writeFile(file, edited);
      const ended = how === "stop" ? run("stop").then(({ code }) => code) : daemon.end("SIGTERM");
      expect(await ended).toBe(0);
      expect(await daemon.end("SIGTERM")).toBe(0);
      expect(await readFile(file, "utf8")).toContain("42");
      // Nobody holds the home any more.
      await using next = await spawnDaemon(["--port", "0"], folder);
      expect((await run("status")).output).toContain("repoconf log rejoin");
      expect(await next.end("SIGTERM")).toBe(0);
    },
  );

  test("say what is wrong with an address", async () => {
    await using home = await makeCommandHome();
    await home.refuse(1, ["daemon", "--log", "http://somewhere", "--port", "0"], "nats://HOST:PORT/NAME");
    await home.refuse(1, ["daemon", "--log", "nats://127.0.0.1:1/team", "--port", "0"], "cannot be used");
    await home.refuse(2, ["log", "copy"], "--to");
  });

  test("say that the shared log already has a clone that is added, and commands in the folder find it", async () => {
    await using world = await makeSharedWorld();
    await using laptop = await world.start("laptop");
    await using desk = await makeCommandHome();
    await follow(desk, world.address, "desk");
    const there = join(world.home("laptop"), "shop");
    const here = join(desk.workFolder, "my-shop");
    for (const folder of [there, here]) {
      await mkdir(join(folder, ".git"), { recursive: true });
      const url = "https://somebody:s3cr3t@example.org/acme/shop.git";
      await writeFile(join(folder, ".git/config"), `[remote "origin"]\n\turl = ${url}\n`);
    }
    await laptop.owner.call("repo/add", { name: "shop", id: "shop", path: there });
    await laptop.owner.call("config/set", { repo: "shop", "svc.timeout": 41 });
    await until(async () => (await desk.succeed(["repo", "list", "--json"])).includes('"shop"'), "the repository");
    expect(await desk.succeed(["repo", "add"], { folder: here })).toBe(
      `${here} is a clone of shop (shop), which the shared log already has. It is now that repository's folder on this machine.\n`,
    );
    await until(async () => (await desk.succeed(["get", "svc.timeout"], { folder: here })) === "41\n", "the value");
  });
  test("make one repository of clones that were added twice, with the values and the folders of both machines", async () => {
    await using world = await makeSharedWorld();
    await using laptop = await world.start("laptop");
    await using desk = await makeCommandHome();
    await follow(desk, world.address, "desk");
    const [there, here] = [join(world.home("laptop"), "shop"), join(desk.workFolder, "shop")];
    for (const folder of [there, here]) {
      await mkdir(join(folder, ".git"), { recursive: true });
      await writeFile(join(folder, ".git/config"), '[remote "origin"]\n\turl = https://example.org/acme/shop.git\n');
    }
    await laptop.owner.call("repo/add", { name: "shop", id: "one", path: there });
    await laptop.owner.call("config/set", { repo: "one", "svc.timeout": 41, "svc.domain": "one.example" });
    await desk.succeed(["repo", "add", "--id", "two"], { folder: here });
    await desk.succeed(["set", "--repo", "two", "svc.timeout=42"]);
    await until(async () => (await desk.succeed(["repo", "list", "--json"])).includes('"one"'), "both");
    await makeFavourite(desk, "one");
    const { output } = await desk.run(["doctor"]);
    expect(output).toContain("2 are clones of example.org/acme/shop: one, two");
    expect(output).toContain("repoconf repo merge two one");
    expect(output).not.toMatch(/"(remote|favourite)" is not used|rename one/);
    await desk.refuse(1, ["repo", "merge", "one", "one", "--yes"], "into itself");
    const merged = await desk.run(["repo", "merge", "one", "two", "--yes"]);
    expect(merged.errorOutput).toContain("gets: svc.domain\n");
    expect(merged.errorOutput).toContain("keeps its own value of: svc.timeout\n");
    expect(merged.output).toContain("Merged shop (one) into shop (two).");
    const listed = async () => (await laptop.owner.call("repo/list")).result.map(({ id, path }) => [id, path]);
    await until(async () => JSON.stringify(await listed()) === JSON.stringify([["two", there]]), "the folder there");
    expect((await laptop.owner.call("config/list", { repo: "two", stored: true })).result).toEqual({
      svc: { timeout: 42, domain: "one.example" },
    });
    expect(await desk.json(["repo", "list"])).toMatchObject([{ id: "two", path: here, favourite: true }]);
  });
});
