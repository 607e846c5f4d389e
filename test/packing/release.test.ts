import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { projectFolder } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

test("npm run release creates the package, an SBOM and correct checksums", async () => {
  await using folder = await temporaryFolder();
  const script = join(projectFolder, "scripts/release.ts");
  await promisify(execFile)(process.execPath, [script, relative(projectFolder, folder.path)]);
  const names = (await readdir(folder.path)).sort();
  expect(names).toEqual(["SHA256SUMS", expect.stringMatching(/^repoconf-.*\.tgz$/), "repoconf.spdx.json"]);
  const sbom = JSON.parse(await readFile(join(folder.path, "repoconf.spdx.json"), "utf8"));
  expect(sbom).toMatchObject({ spdxVersion: "SPDX-2.3", name: expect.stringContaining("repoconf") });
  for (const line of (await readFile(join(folder.path, "SHA256SUMS"), "utf8")).trim().split("\n")) {
    const [hash, name] = line.split("  ");
    const content = await readFile(join(folder.path, name ?? ""));
    expect(createHash("sha256").update(content).digest("hex")).toBe(hash);
  }
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
