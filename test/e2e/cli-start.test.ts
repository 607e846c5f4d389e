import { chmod, copyFile, cp, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { growthWhileLoading } from "../../main/cli/young-generation.ts";
import { makeCommandHome } from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { loadedBy, reportLoaded } from "../helpers/report-loaded.ts";
import { projectFolder, runProcess, runRepoconf, startProcess } from "../helpers/spawned-daemon.ts";

const compiled = `.js.${process.versions.v8}-${process.arch}`;

test("--version loads no command and no client", async () => {
  const { code, errorOutput } = await runRepoconf(["--version"], { nodeArguments: reportLoaded });
  expect(code).toBe(0);
  const { parts, files } = loadedBy(errorOutput);
  expect(parts.filter(name => name.includes("undici"))).toEqual([]);
  expect(files).toContain("repoconf.js");
  expect(files.filter(name => /^(client|session|get|set|daemon|locate)-/.test(name))).toEqual([]);
});

test("search loads only its own command, and neither the daemon's code nor Node's fetch", async () => {
  await using home = await makeCommandHome();
  await home.succeed(["repo", "add", ".", "--id", "shop"]);
  const { code, errorOutput } = await home.run(["search", "repo:shop"], { nodeArguments: reportLoaded });
  expect(code).toBe(0);
  const { parts, files } = loadedBy(errorOutput);
  expect(parts.filter(name => name.includes("undici"))).toEqual([]);
  expect(
    files.filter(name => /^(one-shot|daemon|background|set|history|doctor|backup|mcp|serve)[-.]/.test(name)),
  ).toEqual([]);
});

test("the first command after a stop loads what starts the daemon, and not the long way", async () => {
  // Only over a Unix socket: without one, every command takes the long way.
  await using home = await makeCommandHome(false);
  await home.succeed(["repo", "add", ".", "--id", "shop"]);
  await home.succeed(["set", "svc.timeout=41"]);
  await home.succeed(["stop"]);
  const { output, errorOutput } = await home.run(["get", "svc.timeout"], { nodeArguments: reportLoaded });
  expect(output).toBe("41\n");
  const { files } = loadedBy(errorOutput);
  expect(files.filter(name => !name.endsWith(compiled))).toEqual(["repoconf.js", "one-shot.js", "start-or-end.js"]);
});

test("the first command says why no daemon can be started, once, and ends with the same status as others", async () => {
  await using home = await makeCommandHome();
  await home.succeed(["repo", "add", ".", "--id", "shop"]);
  await home.succeed(["stop"]);
  await home.put("format", "99\n");
  const told = await home.run(["get", "svc.timeout"]);
  expect(told).toMatchObject({ code: 4, output: "" });
  expect(told.errorOutput).toMatch(/^repoconf: Could not start a daemon for .*format 99.*\n$/);
  expect(await home.run(["repo", "list"])).toEqual(told);
  await home.refuse(4, ["get", "svc.timeout", "--no-start"], /No daemon is running/);
});

test("the first command works in a relative folder that -C names", async () => {
  await using home = await makeCommandHome();
  await mkdir(join(home.workFolder, "inner"));
  await home.succeed(["repo", "add", ".", "--id", "shop"]);
  await home.succeed(["stop"]);
  expect(await home.succeed(["-C", "inner", "get", "svc.timeout"])).toBe("900\n");
  await home.succeed(["stop"]);
  // Any option before the name takes the long way.
  expect(await home.succeed(["-C", "inner", "--json", "get", "svc.timeout"])).toBe("900\n");
});

test("a daemon is one file, of which it keeps the code that V8 has compiled for its start and its first request", async () => {
  await using home = await makeCommandHome(false);
  const built = join(home.workFolder, "dist");
  await mkdir(built);
  for (const name of ["repoconf.js", "daemon.js"]) await copyFile(join(projectFolder, "dist", name), join(built, name));
  await writeFile(join(built, "package.json"), '{"type":"module"}');
  const start = async (request: readonly string[], ...flags: readonly string[]) => {
    const options = { environment: { REPOCONF_HOME: home.homeFolder } };
    const args = [...flags, ...reportLoaded, join(built, "repoconf.js"), "daemon"];
    const daemon = startProcess(process.execPath, args, options);
    await until(() => daemon.output().includes("is running"), "the daemon");
    if (request.length > 0) await home.succeed(request);
    daemon.process.kill("SIGTERM");
    expect(await daemon.ended).toBe(0);
    return loadedBy(daemon.errorOutput());
  };
  const name = `daemon${compiled}`;
  const get = ["get", "svc.timeout"];
  // A start alone would be kept without what the first command needs of it.
  await start([]);
  expect(await readdir(built)).not.toContain(name);
  const { files } = await start(["repo", "add", "."], "--import", "data:text/javascript,process.umask(0)");
  expect(files).toEqual(["repoconf.js", "daemon.js"]);
  // Others may not change what everyone's commands run.
  expect((await stat(join(built, name))).mode & 0o22).toBe(process.platform === "win32" ? 0o22 : 0);
  const kept = await readFile(join(built, name));
  const source = await readFile(join(built, "daemon.js"), "utf8");
  expect(kept.toString("latin1", 0, 16)).toBe(source.slice(-16));
  // V8 refuses code that was compiled with other flags than its own.
  const load = `const read = name => require("node:fs").readFileSync(name);
    const kept = read(process.argv[2]);
    const cachedData = kept.subarray(16, 8 + kept.length / 2);
    console.log(new vm.Script(read(process.argv[1]).toString("latin1"), { cachedData }).cachedDataRejected);`;
  const flag = `--semi-space-growth-factor=${growthWhileLoading}`;
  const refused = async () =>
    (await runProcess(process.execPath, [flag, "-e", load, join(built, "daemon.js"), join(built, name)])).output;
  expect(await refused()).toBe("false\n");
  const { files: next, parts } = await start(get);
  expect(next).toEqual(["repoconf.js", "daemon.js", name]);
  expect(await readFile(join(built, name))).toEqual(kept);
  // Of Socket.IO's packages, one loads it.
  if (process.platform !== "win32") expect(parts).not.toContain("NativeModule tls");
  // Replaced: what is damaged, with which V8 would end the process, a part of it, and what a daemon with other flags has kept.
  await writeFile(join(built, name), Buffer.from(kept).fill(7, 400_000, 500_000));
  await start(get);
  expect(await refused()).toBe("false\n");
  await writeFile(join(built, name), kept.subarray(0, kept.length / 2));
  await start(get, "--no-opt");
  expect(await refused()).toBe("true\n");
  await start(get);
  expect(await refused()).toBe("false\n");
  // Not read, and replaced: a pipe, which would never end, a link, and what others may change.
  for (const command of ["rm $0; mkfifo $0", "ln -sf daemon.js $0", "chmod g+w $0"]) {
    if (process.platform === "win32") continue;
    await runProcess("sh", ["-c", command, name], { folder: built });
    expect((await start(get)).files).toEqual(["repoconf.js", "daemon.js"]);
    expect(await refused()).toBe("false\n");
  }
});

test.skipIf(process.platform === "win32")("Node keeps the code of modules where only this user may write", async () => {
  await using home = await makeCommandHome();
  const built = join(home.workFolder, "dist");
  await cp(join(projectFolder, "dist/chunks"), join(built, "chunks"), { recursive: true });
  await copyFile(join(projectFolder, "dist/repoconf.js"), join(built, "repoconf.js"));
  await writeFile(join(built, "package.json"), '{"type":"module"}');
  const kept = join(built, "compiled");
  const run = async () => {
    const script = 'umask 0; unset NODE_COMPILE_CACHE; exec "$0" dist/repoconf.js --version';
    const ended = runProcess("sh", ["-c", script, process.execPath], { folder: home.workFolder });
    expect(await ended).toMatchObject({ code: 0, errorOutput: "" });
    return (await readdir(kept)).length;
  };
  expect(await run()).toBe(1);
  expect((await stat(kept)).mode & 0o777).toBe(0o700);
  await rm(kept, { recursive: true });
  await mkdir(kept);
  await chmod(kept, 0o777);
  expect(await run()).toBe(0);
});
