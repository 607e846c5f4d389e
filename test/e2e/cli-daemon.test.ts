import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { access, mkdir, readdir, readFile, readlink, unlink, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isProcessThere } from "../../main/cli/connect/lock-holder.ts";
import { addShop, makeCommandHome, makeShop, startWatch } from "../helpers/command-home.ts";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { projectFolder, repoconfCommand, runProcess, spawnDaemon } from "../helpers/spawned-daemon.ts";

/** Whether nobody listens at a Unix socket. */
function isRefused(path: string): Promise<boolean> {
  const socket = connect(path);
  const isOpen = once(socket, "connect");
  return isOpen
    .then(
      () => false,
      () => true,
    )
    .finally(() => socket.destroy());
}

describe.concurrent("the daemon behind the command line", () => {
  test("commands at once start one in the background, and the next one finds it; after kill -9 the next one starts another", async () => {
    await using home = await makeCommandHome();
    const runs = await Promise.all([1, 2, 3].map(() => home.run(["repo", "list", "--json"])));
    expect(runs).toEqual(Array(3).fill({ code: 0, output: "[]\n", errorOutput: "" }));
    const { pid } = await home.endpoint();
    await addShop(home, ["svc.timeout=9"]);
    expect(await home.json(["status"])).toMatchObject({ pid });
    await access(join(home.homeFolder, "daemon.log"));
    process.kill(pid, "SIGKILL");
    expect(await home.succeed(["get", "svc.timeout"])).toBe("9\n");
  });

  test("one that a command starts in the background holds none of the files that a script has open, such as its lock", async context => {
    context.skip(process.platform !== "linux", "not Linux");
    await using home = await makeCommandHome();
    const lock = join(home.workFolder, "script.lock");
    const script = `exec 20>"$1" 63>"$1" 200>"$1"; shift; exec "$@"`;
    const command = [process.execPath, repoconfCommand, "repo", "list", "--json"];
    const started = await runProcess("bash", ["-c", script, "bash", lock, ...command], {
      environment: { REPOCONF_HOME: home.homeFolder },
    });
    expect(started).toMatchObject({ code: 0, errorOutput: "" });
    const folder = `/proc/${(await home.endpoint()).pid}/fd`;
    const held = await Promise.all((await readdir(folder)).map(name => readlink(join(folder, name)).catch(() => "")));
    expect(held.some(path => path.endsWith("/daemon.log"))).toBe(true);
    expect(held).not.toContain(lock);
  });

  test.each([["get", "svc.timeout", "--no-start"], ["status"], ["stop"], ["endpoint"]])(
    "%s starts none and exits with code 4",
    async (...args) => {
      await using home = await makeCommandHome();
      await home.refuse(4, args, "No daemon is running");
      await expect(access(join(home.homeFolder, "daemon.json"))).rejects.toThrow("ENOENT");
    },
  );

  test("a copy of a home whose daemon runs leaves that daemon alone: stop says so at once, and commands use the copy", async context => {
    context.skip(process.platform === "win32", "no cp");
    await using home = await makeShop(["svc.timeout=5"]);
    await using copy = await makeCommandHome();
    await runProcess("cp", ["-a", home.homeFolder, copy.homeFolder]);
    const original = await home.endpoint();
    expect(await copy.endpoint()).toEqual(original);
    await copy.refuse(4, ["stop"], "came with a copy of another home");
    expect(await copy.run(["doctor"])).toMatchObject({ output: expect.stringContaining("a copy of another home") });
    await copy.succeed(["set", "svc.timeout=7", "--repo", "shop"]);
    expect(await copy.succeed(["get", "svc.timeout", "--repo", "shop"])).toBe("7\n");
    expect(await home.succeed(["get", "svc.timeout"])).toBe("5\n");
    expect(await home.endpoint()).toEqual(original);
  });

  test("status, endpoint and settings describe the daemon; restart replaces it, stop ends it, but not with an invalid key", async () => {
    await using home = await makeCommandHome();
    await home.succeed(["restart"]);
    const first = await home.endpoint();
    expect(await home.succeed(["status"])).toContain(`pid           ${first.pid}`);
    expect(await home.succeed(["endpoint"])).toBe(`${first.url}\n`);
    expect(await home.succeed(["endpoint", "--json"])).not.toContain("ecret");
    expect(await home.succeed(["settings"])).toContain("settings.json (does not exist");
    expect(await home.succeed(["restart"])).toContain("The daemon is running at");
    expect((await home.endpoint()).pid).not.toBe(first.pid);
    const environment = { REPOCONF_API_KEY: "repoconf_of_somebody_else" };
    expect(await home.run(["stop"], { environment })).toMatchObject({ code: 5 });
    expect(await home.succeed(["stop"])).toBe("The daemon stopped.\n");
    await home.refuse(4, ["stop"], "No daemon is running");
  });

  test("a daemon that cannot start says why", async () => {
    await using home = await makeCommandHome();
    await home.put("format", "99\n");
    await home.refuse(4, ["repo", "list"], "has format 99");
  });

  test("a daemon of another protocol is refused, and restart replaces it", async () => {
    await using home = await makeCommandHome();
    await mkdir(home.homeFolder);
    const program = join(projectFolder, "test/helpers/other-protocol-process.ts");
    const other = spawn(process.execPath, [program, home.homeFolder]);
    await until(() => existsSync(join(home.homeFolder, "daemon.json")), "the other daemon");
    await home.refuse(4, ["repo", "list"], "repoconf restart");
    const ended = once(other, "exit");
    await home.succeed(["restart"]);
    expect(await ended).toEqual([0, null]);
    await home.succeed(["repo", "list", "--json"]);
  });

  test("the warning about an older daemon is printed once while it runs, on standard error", async () => {
    await using home = await makeCommandHome();
    for (const _ of [1, 2]) {
      await using _daemon = await startTestDaemon({ home: home.homeFolder });
      const { code, errorOutput } = await home.run(["repo", "list", "--json"]);
      expect(code).toBe(0);
      expect(errorOutput.match(/0\.0\.0/g)).toHaveLength(1);
      expect(errorOutput).toContain("repoconf restart");
      await home.succeed(["repo", "list", "--json"]);
      await home.succeed(["settings"]);
    }
  });

  test("watch prints a hand edit and a set as they happen, and exits with code 0 on Ctrl+C", async () => {
    await using home = await makeShop();
    using watch = await startWatch(home, "--json");
    const file = join(home.homeFolder, "repos/shop.json");
    await until(async () => (await readFile(file, "utf8")).includes("refresh_hour"), "the file to be written");
    await writeFile(file, (await readFile(file, "utf8")).replace(/"refresh_hour": \d+/, `"refresh_hour": 23`));
    await until(() => watch.output().includes(`"source":"file"`), "the watch to tell of the hand edit");
    for (const line of watch.output().trimEnd().split("\n"))
      expect(JSON.parse(line)).toMatchObject({ resource: "config", event: "changed" });
    watch.process.kill("SIGINT");
    expect(await watch.ended).toBe(0);
  });

  test("says on a terminal that it waits for a daemon that does not answer yet, and nothing in a pipe", async () => {
    await using home = await makeCommandHome();
    await home.succeed(["repo", "add", "--name", "shop", home.workFolder]);
    const { pid } = await home.endpoint();
    const nodeArguments = ["--import", "data:text/javascript,process.stderr.isTTY=true"];
    process.kill(pid, "SIGSTOP");
    const piped = home.run(["get", "svc.timeout"]);
    using shown = home.start(["get", "svc.timeout"], { nodeArguments });
    await until(() => shown.errorOutput().includes("Waiting for the daemon…"), "the word that it waits").finally(() =>
      process.kill(pid, "SIGCONT"),
    );
    expect(await shown.ended).toBe(0);
    // The line is erased again.
    expect(shown.errorOutput().endsWith("\r\u001b[K")).toBe(true);
    expect(await piped).toMatchObject({ code: 0, output: "900\n", errorOutput: "" });
  });

  test("watch of a field prints only its changes, starting at a revision", async () => {
    await using home = await makeShop(["svc.timeout=5"], ["svc.timeout=6"], ["svc.domain=d"]);
    using watch = home.start(["watch", "svc.timeout", "--since", "2", "--json"]);
    await until(() => watch.output().includes("\n"), "the past");
    await home.succeed(["set", "svc.domain=e"]);
    await home.succeed(["set", "svc.timeout=7", "svc.domain=f"]);
    await until(() => watch.output().split("\n").length > 2, "the change of now");
    watch.process.kill("SIGINT");
    expect(await watch.ended).toBe(0);
    const payloads = watch
      .output()
      .trimEnd()
      .split("\n")
      .map(line => JSON.parse(line).payload);
    expect(
      payloads.map(({ revision, changes }) => [revision, Object.keys(changes.svc), changes.svc.timeout.value]),
    ).toEqual([
      [3, ["timeout"], 6],
      [6, ["timeout"], 7],
    ]);
    await home.refuse(3, ["watch", "svc.timeot"], `Did you mean "svc.timeout"?`);
    await home.refuse(2, ["watch", "--all", "--since", "2"], "--since");
  });

  test("watch of one repository reports a broken and a fixed file, a lost and a restored connection, and ends when the repository is removed", async () => {
    await using home = await addShop(await makeCommandHome());
    await home.succeed(["repo", "add", "--name", "other", "--id", "other", home.homeFolder]);
    using watch = home.start(["watch", "--repo", "shop"]);
    const told = () => watch.output() + watch.errorOutput();
    const untilPrinted = (part: string) =>
      until(() => told().includes(part), part).catch(error => {
        throw new Error(`${String(error)}; the watch told:\n${told()}`);
      });
    const file = join(home.homeFolder, "repos/shop.json");
    const text = await readFile(file, "utf8");
    const isBroken = async () => {
      const repositories = await home.json(["repo", "list"]);
      return repositories.find(({ id }: { id: string }) => id === "shop").health.length > 0;
    };
    // Break it again until the watch, which may not have begun yet, reports it. A file counts as broken only after 250 ms.
    await until(async () => {
      await writeFile(file, text);
      await until(async () => !(await isBroken()), "the file to be well");
      await writeFile(file, "{");
      await until(isBroken, "the file to be broken");
      return told().includes("shop (shop): has problems");
    }, "the watch to tell of the broken file");
    await writeFile(file, text);
    await untilPrinted("shop (shop): no more problems");
    const { pid, socket } = await home.endpoint();
    process.kill(pid, "SIGKILL");
    await untilPrinted("connection lost");
    // Its other socket may still take a request that nobody answers, as long as one of its threads has not ended.
    if (socket !== undefined) await until(() => isRefused(socket), "the daemon to be gone");
    await home.succeed(["set", "svc.timeout=7", "--repo", "other"]);
    await home.succeed(["set", "svc.timeout=8", "--repo", "shop"]);
    await untilPrinted("svc.timeout: 900 -> 8");
    expect(told()).toContain("reconnected");
    expect(told()).not.toContain("other");
    await home.succeed(["repo", "remove", "shop", "--yes"]);
    expect(await watch.ended).toBe(1);
    expect(told()).toContain("shop (shop): removed");
  });

  test("a daemon that does not answer and whose daemon.json is garbled or gone is not taken for none, and its process is named", async context => {
    context.skip(process.platform === "win32", "Windows");
    await using home = await makeCommandHome();
    await using daemon = await spawnDaemon(["--port", "0"], home.homeFolder);
    const file = join(home.homeFolder, "daemon.json");
    const garbled = (await readFile(file, "utf8")).replace(`"url"`, "url");
    daemon.process.kill("SIGSTOP");
    for (const content of [garbled, undefined]) {
      if (content === undefined) await unlink(file);
      else await writeFile(file, content);
      // Without the file a daemon may just be starting, so commands that would start one wait longer.
      const commands = [["status"], ["stop"], ["endpoint"], ...(content === undefined ? [] : [["repo", "list"]])];
      const runs = await Promise.all(commands.map(command => home.run(command)));
      for (const { code, output, errorOutput } of runs) {
        expect([code, output]).toEqual([4, ""]);
        expect(errorOutput).not.toContain("No daemon is running");
        expect(errorOutput.match(/repoconf: /g)).toHaveLength(1);
        // Without the file, the lock's holder is known only on Linux.
        if (content !== undefined || process.platform === "linux")
          expect(errorOutput).toContain(`kill ${daemon.process.pid}`);
      }
    }
    daemon.process.kill("SIGCONT");
    expect(await home.succeed(["stop"])).toBe("The daemon stopped.\n");
  });

  test.each(["daemon.json", "owner.key"])("right after %s is gone, every command works", async file => {
    await using home = await makeCommandHome();
    await using daemon = await spawnDaemon(["--port", "0"], home.homeFolder);
    const path = join(home.homeFolder, file);
    const remove = async () => {
      await until(() => existsSync(path), "the file to be there again");
      await unlink(path);
    };
    for (const command of [["repo", "list", "--json"], ["status", "--json"], ["endpoint"]]) {
      await remove();
      await home.succeed(command);
      expect((await home.endpoint()).pid).toBe(daemon.process.pid);
    }
    for (const command of [["restart"], ["stop"]]) {
      const { pid } = await home.endpoint();
      await remove();
      await home.succeed(command);
      // The first one is a child of this process.
      await until(() => daemon.process.exitCode !== null && !isProcessThere(pid), "the end of the daemon");
    }
    expect(daemon.process.exitCode).toBe(0);
  });

  test("stop does not call a daemon stopped whose process has not ended", async () => {
    await using home = await makeCommandHome();
    const stopped = Promise.withResolvers<void>();
    // Its process is this one, which stays.
    const daemon = await startTestDaemon({ home: home.homeFolder, onStop: stopped.resolve });
    const ended = stopped.promise.then(() => daemon.daemon.close());
    await home.refuse(1, ["stop"], `released the home, but its process ${process.pid} has not ended`);
    await ended;
  });

  test.skipIf(process.platform === "win32")("a suspended watch delays neither restart nor stop", async () => {
    await using home = await addShop(await makeCommandHome());
    const { pid } = await home.endpoint();
    const sockets = async () => (await home.json(["status"])).sockets;
    // Once connected, a watch may still have a request pending, and losing its reply would end it.
    using watch = await startWatch(home);
    watch.process.kill("SIGSTOP");
    await home.succeed(["restart"]);
    expect((await home.endpoint()).pid).not.toBe(pid);
    watch.process.kill("SIGCONT");
    await until(async () => (await sockets()) === 2, "the watch to be back");
    watch.process.kill("SIGSTOP");
    await home.succeed(["stop"]);
  });
});
