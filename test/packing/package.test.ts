import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { requestScreen } from "../helpers/raw-http.ts";
import { projectFolder } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";
import { typeSessions } from "../helpers/typed-session.ts";

const run = promisify(execFile);
const folder = await temporaryFolder();
afterAll(() => folder[Symbol.asyncDispose]());
/** What `npm run release` makes. */
const released = join(folder.path, "release");
await run(process.execPath, [join(projectFolder, "scripts/release.ts"), relative(projectFolder, released)]);
const tarball = (await readdir(released)).find(name => name.endsWith(".tgz")) ?? "";
const options = ["--global", "--prefix", join(folder.path, "prefix"), "--no-audit", "--no-fund"];
await run("npm", ["install", ...options, join(released, tarball)]);

const bin = join(folder.path, "prefix/bin/repoconf");
const installed = join(folder.path, "prefix/lib/node_modules/repoconf");
const command = async (args: readonly string[], cwd = folder.path) => {
  const home = join(folder.path, "home");
  // The Node that runs the tests, because the package does not contain one.
  const path = `${join(process.execPath, "..")}:${process.env["PATH"]}`;
  return (await run(bin, [...args], { cwd, env: { ...process.env, PATH: path, REPOCONF_HOME: home } })).stdout;
};

test("npm run release creates the package, an SBOM and correct checksums", async () => {
  const names = (await readdir(released)).sort();
  expect(names).toEqual(["SHA256SUMS", expect.stringMatching(/^repoconf-.*\.tgz$/), "repoconf.spdx.json"]);
  const sbom = JSON.parse(await readFile(join(released, "repoconf.spdx.json"), "utf8"));
  expect(sbom).toMatchObject({ spdxVersion: "SPDX-2.3", name: expect.stringContaining("repoconf") });
  for (const line of (await readFile(join(released, "SHA256SUMS"), "utf8")).trim().split("\n")) {
    const [hash, name = ""] = line.split("  ");
    const content = await readFile(join(released, name));
    expect(createHash("sha256").update(content).digest("hex")).toBe(hash);
  }
});

test("the package is small, and has no Electron and no script that runs when it is installed", async () => {
  const files = (await readdir(installed, { recursive: true })).filter(path => !path.startsWith("node_modules"));
  const sizes = await Promise.all(files.map(async path => (await stat(join(installed, path))).size));
  // The library that speaks to coding agents is 0.8 MiB of it, which only repoconf mcp loads. The file of the daemon is 2.4 MiB: half of it
  // is in the chunks of commands too, which halves the processor time of a start.
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(8 * 1024 * 1024);
  expect(files.filter(path => /electron|\.map$|^(main|test|renderer)\//.test(path))).toEqual([]);
  const shipped = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
  // No scripts at all: some tools run even `prepare`, which fails where nothing can be built.
  for (const name of ["scripts", "devDependencies", "private"]) expect(shipped).not.toHaveProperty(name);
  expect(Object.keys(shipped.dependencies)).toEqual(["json-schema-to-ts"]);
  const tree = await readdir(join(folder.path, "prefix/lib/node_modules"), { recursive: true });
  expect(tree.filter(path => /(^|\/)electron(\/|$)/.test(path))).toEqual([]);
});

test.skipIf(process.platform === "win32")(
  "README.md: its session works with the installed command, in a fresh home",
  () => typeSessions("README.md", 11, "", `export PATH='${join(bin, "..")}:${join(process.execPath, "..")}':"$PATH"`),
);

test("the installed command includes the screen", async () => {
  try {
    const page = await requestScreen(await command(["ui", "--print"]));
    expect(page.body).toContain('<div id="root">');
  } finally {
    await command(["stop"]);
  }
});

test("the typed client has declarations: a correct program compiles, a wrong one does not", async () => {
  const project = join(folder.path, "tool");
  await mkdir(join(project, "node_modules"), { recursive: true });
  await run("ln", ["-s", installed, join(project, "node_modules/repoconf")]);
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
  // Types that people write themselves, as the guide shows.
  const guide = await readFile(join(projectFolder, "docs/tool-of-your-own.md"), "utf8");
  const merged = /```ts\n(declare module [\s\S]*?)```/.exec(guide)?.[1] ?? "";
  const program = (value: string, mode: string) => `import { connect } from "repoconf/client";
using client = await connect();
await client.set("shop", { "svc.timeout": ${value} });
await client.set("shop", { "build.mode": "${mode}" });
${merged}
export const timeout: number = await client.get("shop", "svc.timeout");
for await (const change of client.watch({ repo: "shop" })) change.revision.toFixed();
`;
  const compile = async (value: string, mode = "release") => {
    await writeFile(join(project, "tool.ts"), program(value, mode));
    const tsc = join(projectFolder, "node_modules/typescript/bin/tsc");
    const flags = "--noEmit --strict --target es2024 --module nodenext --lib es2024,esnext.disposable,dom".split(" ");
    return run(process.execPath, [tsc, ...flags, "tool.ts"], { cwd: project }).then(
      () => "compiles",
      (error: { stdout: string }) => error.stdout,
    );
  };
  expect(await compile("30")).toBe("compiles");
  expect(await compile('"30"')).toContain("tool.ts(3,");
  expect(await compile("30", "relese")).toContain("tool.ts(4,");
});
