import { readdir, readFile } from "node:fs/promises";
import { registerHooks } from "node:module";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { projectFolder, runProcess } from "../helpers/spawned-daemon.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

/*
 * The workflows only run on GitHub. Here GitHub's own parser validates them (keys, expressions, dependencies of jobs), and the
 * tests compare what it does not validate with GitHub's announcements.
 */

/** Images that GitHub offers. macos-14 was retired on 2026-11-02. */
const images = ["ubuntu-24.04", "ubuntu-26.04", "macos-15", "macos-26", "windows-2022", "windows-2025"];
/** The first major version of each action that runs on Node 24: runners no longer have Node 20. */
const firstMajors: { readonly [action: string]: number } = {
  "actions/checkout": 5,
  "actions/setup-node": 5,
  "actions/upload-artifact": 6,
  "actions/download-artifact": 7,
};

// The parser imports JSON without an attribute, as bundlers allow and Node does not.
const hooks = registerHooks({
  load: (url, context, load) =>
    load(url, url.endsWith(".json") ? { ...context, importAttributes: { type: "json" } } : context),
});
const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = await import("@actions/workflow-parser");
hooks.deregister();

/** The project's workflows, and the examples for users. */
const folders = [".github/workflows", "examples/github"].map(name => join(projectFolder, name));
const paths = await Promise.all(folders.map(async at => (await readdir(at)).map(name => join(at, name))));
const texts = await Promise.all(
  paths.flat().map(async path => [basename(path), await readFile(path, "utf8")] as const),
);

async function problemsOf(name: string, text: string): Promise<string[]> {
  const { context, value } = parseWorkflow({ name, content: text }, new NoOperationTraceWriter());
  if (value === undefined) return [`${name} is empty`];
  const { errors } = await convertWorkflowTemplate(context, value);
  return (errors ?? []).map(({ Message }) => Message);
}

test.each(texts)("%s: GitHub's parser reports no errors", async (name, text) => {
  expect(await problemsOf(name, text)).toEqual([]);
  // It does report an error.
  expect(await problemsOf(name, text.replace("runs-on:", "run-on:"))).not.toEqual([]);
});

test.each(texts)("%s: its jobs run on images that GitHub offers", (_name, text) => {
  const used = text.match(/\b(?:ubuntu|macos|windows)-[\w.]+/g) ?? [];
  expect(used.length).toBeGreaterThan(0);
  expect(used.filter(image => !images.includes(image))).toEqual([]);
});

test.each(texts)("%s: each action is pinned by a hash of a version that runs on Node 24", (_name, text) => {
  const uses = [...text.matchAll(/uses: (?<action>\S+)@(?<commit>\S+) # v(?<major>\d+)\./g)];
  expect(uses.length).toBe(text.match(/uses:/g)?.length);
  for (const { groups } of uses) {
    const { action = "", commit, major } = groups ?? {};
    expect(commit).toMatch(/^[0-9a-f]{40}$/);
    expect(Number(major), action).toBeGreaterThanOrEqual(firstMajors[action] ?? Number.NaN);
  }
});

test.each(texts)("%s: it may only read the repository, except for the job that creates the release", (_name, text) => {
  expect(text).toMatch(/^permissions: \{ contents: read \}$/m);
  const [build = "", draft = ""] = text.split(/^ {2}draft:$/m);
  expect(build).not.toContain("write }");
  expect(draft.match(/: write/g) ?? []).toHaveLength(draft === "" ? 0 : 1);
  // No step can read the token from the work tree.
  expect(text.match(/persist-credentials: false/g)).toHaveLength(text.match(/actions\/checkout@/g)?.length ?? 0);
});

test.skipIf(process.platform === "win32")("the key for notarisation reaches electron-builder as a file", async () => {
  const [, text = ""] = texts.find(([name]) => name === "release.yml") ?? [];
  // Only the step that writes the file sees the key's text; after that, APPLE_API_KEY is the file's path.
  expect(text).not.toMatch(/APPLE_API_KEY: /);
  const [, script = ""] =
    /env: \{ KEY: "\$\{\{ secrets\.APPLE_API_KEY \}\}" \}\n\s+run: \|\n((?: {10}.*\n)+)/.exec(text) ?? [];
  await using scratch = await temporaryFolder();
  const environment = {
    KEY: "-----BEGIN PRIVATE KEY-----\nabc\n",
    RUNNER_TEMP: scratch.path,
    GITHUB_ENV: join(scratch.path, "env"),
  };
  expect(await runProcess("bash", ["-e", "-c", script], { environment })).toMatchObject({ code: 0 });
  const [, path = ""] = /^APPLE_API_KEY=(.*)$/m.exec(await readFile(environment.GITHUB_ENV, "utf8")) ?? [];
  expect((await readFile(path, "utf8")).trim()).toBe(environment.KEY.trim());
  // Without the secret, no key is set, and electron-builder skips notarisation.
  const without = { ...environment, KEY: "", GITHUB_ENV: join(scratch.path, "none") };
  expect(await runProcess("bash", ["-e", "-c", script], { environment: without })).toMatchObject({ code: 0 });
  await expect(readFile(without.GITHUB_ENV)).rejects.toMatchObject({ code: "ENOENT" });
});
