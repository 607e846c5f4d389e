import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, cp, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { until } from "../helpers/daemon.ts";
import { projectFolder, runProcess, spawnDaemon } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

/** A copy of the project, because the other tests use the project's own build. */
const folder = await temporaryFolder();
afterAll(() => folder[Symbol.asyncDispose]());
const root = join(folder.path, "project");
const command = join(root, "dist", "repoconf.js");
const build = (...more: string[]) =>
  runProcess(process.execPath, [join(root, "scripts/build.ts"), "command", ...more], { folder: root });
const isBuilt = (name: string) => /^(main|shared|scripts|package\.json|vite.*\.ts)$/.test(name);
for (const name of (await readdir(projectFolder)).filter(isBuilt))
  await cp(join(projectFolder, name), join(root, name), { recursive: true });
await symlink(join(projectFolder, "node_modules"), join(root, "node_modules"), "junction");
expect(await build()).toMatchObject({ code: 0, errorOutput: "" });

const chunks = () => readdir(join(root, "dist", "chunks"));

async function replaceIn(file: string, find: string, replacement: string): Promise<void> {
  const text = await readFile(join(root, file), "utf8");
  expect(text).toContain(find);
  await writeFile(join(root, file), text.replace(find, replacement));
}

test("a command that is linked, as by npm link, runs after each build", async ({ skip }) => {
  skip(process.platform === "win32", "Windows");
  const linked = join(folder.path, "repoconf");
  await symlink(command, linked);
  const environment = { PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}` };
  expect(await runProcess(linked, ["--version"], { environment })).toMatchObject({ code: 0, errorOutput: "" });
  expect(await build()).toMatchObject({ code: 0 });
  expect(await runProcess(linked, ["--version"], { environment })).toMatchObject({ code: 0, errorOutput: "" });
});

test("a daemon and a command that run during a build find all that they load later", async () => {
  await using daemon = await spawnDaemon(["--port", "0"], undefined, [], command);
  const repoconf = (...args: string[]) =>
    runProcess(process.execPath, [command, ...args, "--home", daemon.homeFolder], { folder: folder.path });
  expect(await repoconf("repo", "add", folder.path, "--id", "shop")).toMatchObject({ code: 0 });
  // An editor that waits for the build.
  const at = (name: string) => join(folder.path, name);
  const text = JSON.stringify({ config: { svc: { timeout: 42 } } });
  const script = `touch "${at("opened")}"; until [ -e "${at("go")}" ]; do sleep 0.05; done; echo '${text}' > "$1"`;
  await writeFile(at("editor"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const edit = spawn(process.execPath, [command, "edit", "--repo", "shop", "--home", daemon.homeFolder], {
    env: { ...process.env, VISUAL: "", EDITOR: at("editor") },
  });
  const edited = once(edit, "exit");
  await until(() => exists(at("opened")), "the editor");

  const before = await chunks();
  await replaceIn("vite.config.ts", "chunks/[name]-[hash].js", "chunks/next-[name]-[hash].js");
  expect(await build()).toMatchObject({ code: 0, errorOutput: "" });
  const after = await chunks();
  expect(after.filter(name => name.startsWith("next-")).length).toBeGreaterThan(100);
  expect(after).toEqual(expect.arrayContaining(before));

  await writeFile(at("go"), "");
  expect(await edited).toEqual([0, null]);
  const authorization = `Bearer ${daemon.ownerKey}`;
  const metrics = await fetch(`${daemon.url}/metrics`, { headers: { authorization } });
  expect(metrics.status).toBe(200);
  expect(daemon.errorOutput()).toBe("");
  expect(await repoconf("get", "svc.timeout", "--repo", "shop")).toMatchObject({ code: 0, output: "42\n" });
});

test("a build of which one part fails leaves all of the build before, and nothing beside it", async () => {
  const before = [await readFile(command, "utf8"), await chunks()];
  await replaceIn("vite.config.ts", "[name]-[hash].js", "other-[name]-[hash].js");
  // The declarations come last, and their configuration is not in the copy.
  expect(await build("types")).toMatchObject({
    code: 1,
    errorOutput: expect.stringContaining("The declarations of the client cannot be made."),
  });
  expect([await readFile(command, "utf8"), await chunks()]).toEqual(before);
  expect((await readdir(root)).filter(name => name.startsWith("dist"))).toEqual(["dist"]);
});

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
