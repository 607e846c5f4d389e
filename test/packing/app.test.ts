import { execFile } from "node:child_process";
import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { extractAll, listPackage } from "@electron/asar";
import { FuseState, FuseV1Options, getCurrentFuseWire } from "@electron/fuses";
import { afterAll, expect, test } from "vitest";
import { projectFolder } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

/*
 * Runs the real electron-builder for Linux with a fake Electron runtime, because many machines cannot download the real one. Packing,
 * fuses and integrity are real. Only the real runtime could show that the packed app starts.
 */

const run = promisify(execFile);
const builder = join(createRequire(import.meta.url).resolve("electron-builder/package.json"), "../cli.js");
const sentinel = "dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX";
// On other systems electron-builder downloads more tools for this.
const makesDeb = process.platform === "linux";

const folder = await temporaryFolder();
afterAll(() => folder[Symbol.asyncDispose]());
const runtime = join(folder.path, "runtime");
await mkdir(runtime);
// A runtime with nothing but the block for the fuses: version 1, nine fuses, all on.
const wire = Buffer.concat([Buffer.from(sentinel), Buffer.from([1, 9]), Buffer.from("1".repeat(9))]);
await writeFile(join(runtime, "electron"), Buffer.concat([Buffer.from("#!/bin/sh\nexit 1\n"), wire]));
await chmod(join(runtime, "electron"), 0o755);
// A fake fpm, because electron-builder would download the real one. It records its arguments and creates an empty package.
const fpm = join(folder.path, "fpm");
const argumentsFile = join(folder.path, "told.json");
const program = `#!${process.execPath}
  const { readFileSync, writeFileSync } = require("node:fs");
  const args = process.argv.slice(2);
  const entry = args.find(arg => arg.includes(".desktop=")).split("=")[0];
  writeFileSync(${JSON.stringify(argumentsFile)}, JSON.stringify({ args, desktopEntry: readFileSync(entry, "utf8") }));
  writeFileSync(args[args.indexOf("--package") + 1], "");
`;
await writeFile(fpm, program, { mode: 0o755 });
const output = join(folder.path, "release");
const overrides = [`-c.electronDist=${runtime}`, `-c.directories.output=${output}`];
// Without "never", electron-builder publishes in CI, and fails without a token.
const options = ["--linux", makesDeb ? "deb" : "dir", "--x64", "--publish", "never", ...overrides];
await run(process.execPath, [builder, ...options], {
  cwd: projectFolder,
  env: { ...process.env, CI: "true", CSC_IDENTITY_AUTO_DISCOVERY: "false", CUSTOM_FPM_PATH: fpm },
}).catch(error => {
  throw new Error(`electron-builder failed:\n${error.stdout}${error.stderr}`);
});
const packed = join(output, "linux-unpacked");
/** The arguments that electron-builder passes to fpm, and the desktop entry that it puts into the package. */
const deb: { readonly args: readonly string[]; readonly desktopEntry: string } = JSON.parse(
  makesDeb ? await readFile(argumentsFile, "utf8") : '{ "args": [], "desktopEntry": "" }',
);

const archive = join(packed, "resources/app.asar");

test("the app contains only what runs: the bundles, the screen, and package.json", async () => {
  const files = listPackage(archive, { isPack: false })
    .map(path => path.split(sep).join("/").replace(/^\//, ""))
    .filter(path => /\.[a-z0-9]+$/.test(path));
  const built = async (part: string) => {
    const entries = await readdir(join(projectFolder, part), { recursive: true, withFileTypes: true });
    return entries
      .filter(entry => entry.isFile())
      .map(entry => relative(projectFolder, join(entry.parentPath, entry.name)).split(sep).join("/"));
  };
  const expected = ["package.json", ...(await built("dist/electron")), ...(await built("dist/screen"))];
  expect(files.sort()).toEqual(expected.sort());
  expect(files.some(file => file.endsWith(".map") || file.includes("node_modules"))).toBe(false);
  expect((await stat(archive)).size).toBeLessThan(12 * 1024 * 1024);
});

test.runIf(makesDeb)(
  "a .deb can be made: it names its maintainer and its home page, and its desktop entry is the app's window and its links'",
  () => {
    const optionOf = (option: string) => deb.args[deb.args.indexOf(option) + 1];
    expect(optionOf("--maintainer")).toMatch(/^Repoconf contributors <\S+@\S+>$/);
    expect(optionOf("--url")).toMatch(/^https:/);
    expect(deb.args).toContainEqual(expect.stringMatching(/=\/usr\/share\/applications\/repoconf-desktop\.desktop$/));
    expect(deb.desktopEntry).toContain("MimeType=x-scheme-handler/repoconf;");
    expect(deb.desktopEntry).toContain("Exec=/opt/Repoconf/repoconf-desktop %U");
    // Linux desktops match the window to its application by this name.
    expect(deb.desktopEntry).toContain("StartupWMClass=repoconf-desktop");
  },
);

test("the fuses in the written file are those of electron-builder.yml", async () => {
  const wire = await getCurrentFuseWire(join(packed, "repoconf-desktop"));
  expect(wire[FuseV1Options.RunAsNode]).toBe(FuseState.DISABLE);
  expect(wire[FuseV1Options.EnableNodeOptionsEnvironmentVariable]).toBe(FuseState.DISABLE);
  expect(wire[FuseV1Options.EnableNodeCliInspectArguments]).toBe(FuseState.DISABLE);
  expect(wire[FuseV1Options.EnableEmbeddedAsarIntegrityValidation]).toBe(FuseState.ENABLE);
  expect(wire[FuseV1Options.OnlyLoadAppFromAsar]).toBe(FuseState.ENABLE);
  expect(wire[FuseV1Options.EnableCookieEncryption]).toBe(FuseState.ENABLE);
  expect(wire[FuseV1Options.GrantFileProtocolExtraPrivileges]).toBe(FuseState.DISABLE);
});

test("the packed code is complete: whatever its files import, and its page loads, is packed or a part of Electron or Node", async () => {
  const app = join(folder.path, "app");
  extractAll(archive, app);
  const files = await readdir(join(app, "dist"), { recursive: true });
  const missing: string[] = [];
  for (const file of files.filter(name => /^electron.*\.c?js$|\.html$/.test(name))) {
    const text = await readFile(join(app, "dist", file), "utf8");
    const named = /^import .*?"([^"]+)";$|\bimport\("([^"]+)"\)|= require\("([^"]+)"\)|(?:src|href)="([^"]+)"/gm;
    for (const [, ...names] of text.matchAll(named)) {
      const [name = ""] = names.filter(one => one !== undefined);
      if (name === "electron" || isBuiltin(name)) continue;
      const path = name.startsWith("/") ? join("screen", name) : join(file, "..", name);
      if (!files.includes(path)) missing.push(`${file}: ${name}`);
    }
  }
  expect(missing).toEqual([]);
});

test("electron-builder.yml is valid for each of the three systems", async () => {
  const resolve = createRequire(import.meta.url).resolve;
  const library = dirname(
    resolve("app-builder-lib/package.json", { paths: [dirname(resolve("electron-builder/package.json"))] }),
  );
  const { getConfig, validateConfiguration } = await import(join(library, "out/util/config/config.js"));
  const { DebugLogger } = await import(
    join(dirname(resolve("builder-util/package.json", { paths: [library] })), "out/DebugLogger.js")
  );
  const config = await getConfig(projectFolder, "electron-builder.yml", undefined);
  await validateConfiguration(config, new DebugLogger(false));
  expect(Object.keys(config)).toEqual(
    expect.arrayContaining(["linux", "mac", "win", "nsis", "electronFuses", "publish"]),
  );
  await expect(validateConfiguration({ ...config, mac: { target: 5 } }, new DebugLogger(false))).rejects.toThrow();
});
