import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { type CommandHome, makeCommandHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { projectFolder, runRepoconf, spawnDaemon } from "../helpers/spawned-daemon.ts";

/** NODE_OPTIONS that open a debugger and load a file, which writes down the id of its process. */
async function writeNodeOptions(home: CommandHome) {
  const file = join(home.workFolder, "loaded.cjs");
  const pids = join(home.workFolder, "pids");
  await writeFile(file, `require("node:fs").appendFileSync(${JSON.stringify(pids)}, process.pid + "\\n")`);
  return {
    options: `--inspect=0 --require ${file}`,
    loadedBy: async () => (await readFile(pids, "utf8")).trim().split("\n").map(Number),
  };
}

/** The address of the debugger that a process announced. */
function debuggerOf(errorOutput: string): string {
  return `http://${/Debugger listening on ws:\/\/([^/]+)\//.exec(errorOutput)?.[1]}/json/version`;
}

test.each(["repo list", "restart"])(
  "the daemon that `%s` starts has neither the debugger nor the secrets of the terminal",
  async command => {
    await using home = await makeCommandHome();
    const { options, loadedBy } = await writeNodeOptions(home);
    const environment = {
      NODE_OPTIONS: options,
      REPOCONF_API_KEY: "",
      CLOUD_TOKEN: "of the terminal",
      TZ: "Asia/Tokyo",
    };
    const { code, errorOutput } = await home.run(command.split(" "), { environment });
    expect(code).toBe(0);
    expect(errorOutput).toContain("Debugger listening");
    const { pid } = await home.endpoint();
    const loaded = await loadedBy();
    expect(loaded).not.toEqual([]);
    expect(loaded).not.toContain(pid);
    expect((await home.run(["doctor"])).output).toMatch(/^good\tenvironment\tthe daemon has only .*PATH.*TZ\b/m);
    if (process.platform !== "linux") return;
    const kept = (await readFile(`/proc/${pid}/environ`, "utf8")).split("\0").map(line => line.split("=", 1)[0]);
    expect(kept).toEqual(expect.arrayContaining(["PATH", "TZ"]));
    const allowed = /^(HOME|USER|LOGNAME|PATH|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|)$/;
    expect(kept.filter(name => !allowed.test(name ?? ""))).toEqual([]);
  },
);

test("a daemon in the foreground closes the debugger that NODE_OPTIONS opened, and says so; doctor names its variables", async () => {
  vi.stubEnv("NODE_OPTIONS", "--inspect=0");
  vi.stubEnv("AAA_TOKEN", "of the terminal");
  await using daemon = await spawnDaemon();
  const { output } = await runRepoconf(["doctor", "--home", daemon.homeFolder]);
  expect(output).toMatch(/^note\tenvironment\tthe daemon also has AAA_TOKEN, /m);
  expect(output).not.toContain("of the terminal\n");
  expect(daemon.errorOutput()).toContain("Closed the debugger that NODE_OPTIONS opened");
  await expect(fetch(debuggerOf(daemon.errorOutput()))).rejects.toThrow("fetch failed");
});

test("SIGUSR1 opens no debugger in a daemon", async () => {
  await using daemon = await spawnDaemon();
  daemon.process.kill("SIGUSR1");
  // Node would say so on standard error before it ends.
  expect(await daemon.end("SIGTERM")).toBe(0);
  expect(daemon.errorOutput()).not.toContain("Debugger listening");
});

test("a debugger that is asked for as an argument of Node stays open", async () => {
  vi.stubEnv("NODE_OPTIONS", "--no-warnings");
  await using daemon = await spawnDaemon(["--port", "0"], undefined, ["--inspect=0"]);
  expect(await (await fetch(debuggerOf(daemon.errorOutput()))).json()).toHaveProperty("Browser");
});

test("the daemon of npm start does not load what NODE_OPTIONS of the terminal names", async () => {
  await using home = await makeCommandHome();
  const { options, loadedBy } = await writeNodeOptions(home);
  const args = [join(projectFolder, "scripts/start.ts"), "--home", home.homeFolder, "--port", "0"];
  const env = { ...process.env, NODE_OPTIONS: options, DISPLAY: "", WAYLAND_DISPLAY: "" };
  const started = spawn(process.execPath, args, { env, stdio: "ignore" });
  const ended = once(started, "exit");
  try {
    await until(() => home.endpoint().then(Boolean, () => false), "the daemon's endpoint");
    const loaded = await loadedBy();
    expect(loaded).toContain(started.pid);
    expect(loaded).not.toContain((await home.endpoint()).pid);
  } finally {
    started.kill("SIGTERM");
    await ended;
  }
});

describe("the home is never below the current folder by accident", () => {
  const onLinux = process.platform === "linux";
  const withoutHome = { REPOCONF_HOME: "", XDG_DATA_HOME: "" };

  async function makeWorkTree(home: CommandHome): Promise<string> {
    const folder = join(home.workFolder, "tree");
    await mkdir(folder);
    return folder;
  }

  test.for([
    ["a relative REPOCONF_HOME", { REPOCONF_HOME: "data" }, [], "REPOCONF_HOME", true, 1],
    ["a relative XDG_DATA_HOME", { ...withoutHome, XDG_DATA_HOME: "data" }, [], "XDG_DATA_HOME", onLinux, 1],
    ["a relative HOME", { ...withoutHome, HOME: "data" }, [], "HOME", onLinux, 1],
    ["an empty --home", {}, ["--home", ""], "--home", true, 2],
    ["a ~ that the shell did not replace", {}, ["--home=~/data"], "did not replace", true, 1],
  ] as const)(
    "%s is refused, and nothing is created",
    async ([_, environment, args, named, applies, exitCode], { skip }) => {
      skip(!applies, "this system does not use the variable");
      await using home = await makeCommandHome();
      const folder = await makeWorkTree(home);
      for (const command of [["repo", "list"], ["daemon", "--port", "0"], ["endpoint"]]) {
        const { code, output, errorOutput } = await home.run([...command, ...args], { folder, environment });
        expect([code, output]).toEqual([exitCode, ""]);
        expect(errorOutput).toContain(named);
        expect(errorOutput.trimEnd()).not.toContain("\n");
      }
      expect(await readdir(folder)).toEqual([]);
    },
  );

  test.runIf(onLinux)("a relative XDG_CONFIG_HOME is refused for the unit of the service", async () => {
    await using home = await makeCommandHome();
    const folder = await makeWorkTree(home);
    const systemctl = join(home.workFolder, "systemctl");
    await writeFile(systemctl, "#!/bin/sh\n", { mode: 0o755 });
    const environment = { PATH: `${home.workFolder}:${process.env["PATH"]}`, XDG_CONFIG_HOME: "config" };
    await home.refuse(1, ["service", "install"], `XDG_CONFIG_HOME is "config"`, { folder, environment });
    expect(await readdir(folder)).toEqual([]);
  });

  test.runIf(onLinux)("an empty HOME counts as not set: the home is that of the account", async () => {
    await using home = await makeCommandHome();
    const folder = await makeWorkTree(home);
    const environment = { ...withoutHome, HOME: "" };
    const { output, errorOutput } = await home.run(["endpoint"], { folder, environment });
    expect(`${output}${errorOutput}`).not.toContain(folder);
    expect(await home.run(["endpoint"], { folder, environment: withoutHome })).toMatchObject({ output, errorOutput });
  });

  test("a relative --home is the folder that it names from the current one, also without a usable HOME", async () => {
    await using home = await makeCommandHome();
    const folder = await makeWorkTree(home);
    await home.succeed(["repo", "list", "--json", "--home", relative(folder, home.homeFolder)], {
      folder,
      environment: { ...withoutHome, HOME: "data" },
    });
    expect((await home.endpoint()).pid).toBeGreaterThan(0);
    expect(await readdir(folder)).toEqual([]);
  });
});
