import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { makeServedHome } from "../helpers/command-home.ts";
import { git } from "../helpers/git.ts";

/*
 * Which layer each operation changes, and that a value of one's own stays out of the work tree. Each begins with these values of everyone's
 * and of one's own, beside another folder whose own values have the provider: of a linked worktree, that is the main one.
 */
const [shared, local] = [{ timeout: 30, domain: "team.test" }, { domain: "mine.test" }];
const base = { provider: "base" };
const imported = { timeout: 9, domain: "f.test" };
const ours = { ...shared, domain: "ours.test" };
const oursFirst = "set svc.domain=ours.test --shared";

type Row = readonly [commands: string, shared: object, local: object];
/** BEFORE is the revision before the value of one's own. */
const everywhere: readonly Row[] = [
  ["list", shared, local],
  ["set svc.domain=a.test", shared, { domain: "a.test" }],
  ["set svc.domain=ours.test --shared", ours, local],
  ["set svc.timeout=5", { ...shared, timeout: 5 }, local],
  ["set svc.timeout=5 --local", shared, { ...local, timeout: 5 }],
  ["set svc.timeout=5 svc.domain=a.test", { ...shared, timeout: 5 }, { domain: "a.test" }],
  ["unset svc.domain", shared, {}],
  ["unset svc.domain --local", shared, {}],
  ["unset svc.domain --shared", { timeout: 30 }, local],
  ["unset svc.timeout", { domain: "team.test" }, local],
  ["unset svc.timeout --local", shared, local],
  ["import f.json --yes", shared, imported],
  ["import f.json --yes --local", shared, imported],
  ["import f.json --yes --shared", imported, local],
  ["import exported.json --yes", shared, local],
  ["edit svc.domain", shared, { domain: "edited.test" }],
  ["edit svc.domain --shared", { ...shared, domain: "edited.test" }, local],
  ["edit svc.timeout --local", shared, { ...local, timeout: 60 }],
  ["edit --local", shared, { domain: "whole.test" }],
  ["edit --shared", { ...shared, domain: "whole.test" }, local],
  ["undo", shared, {}],
  ["undo --local", shared, {}],
  ["undo; undo", shared, local],
  ["undo --to BEFORE --yes", shared, {}],
  ["unset svc.domain; undo", shared, local],
  ["import f.json --yes; undo", shared, local],
  ["set svc.timeout=5 svc.domain=a.test; undo", shared, local],
  [`${oursFirst}; undo`, shared, local],
  [`${oursFirst}; undo --local`, ours, {}],
  [`${oursFirst}; undo --to BEFORE --yes`, shared, {}],
  [`${oursFirst}; restore BEFORE`, shared, {}],
  [`${oursFirst}; restore BEFORE --shared`, shared, local],
  [`${oursFirst}; restore BEFORE --local`, ours, {}],
  [`${oursFirst}; restore BEFORE svc.timeout`, ours, local],
];
const places = {
  "work tree": [
    ["set svc.provider=mine", { ...shared, provider: "mine" }, local],
    ["unset svc.provider", shared, local],
  ],
  "linked worktree": [
    ["set svc.provider=mine", shared, { ...local, provider: "mine" }],
    ["unset svc.provider", shared, local],
    ["set svc.provider=mine; unset svc.provider", shared, local],
    ["set svc.provider=mine --shared", { ...shared, provider: "mine" }, local],
    ["edit svc.provider", shared, { ...local, provider: "60" }],
  ],
} as const satisfies Record<string, readonly Row[]>;

const home = await makeServedHome();
afterAll(() => home[Symbol.asyncDispose]());
const main = join(home.workFolder, "main");
const text = JSON.stringify({ config: { svc: shared } });
const treeText = (folder: string) => readFile(join(folder, ".repoconf.json"), "utf8");

/** A work tree with the shared values, of which git has a commit. */
async function makeTree(folder: string): Promise<void> {
  await mkdir(folder);
  await git(folder, "init", "-q");
  await writeFile(join(folder, ".repoconf.json"), text);
  await git(folder, "add", ".");
  await git(folder, "commit", "-q", "-m", "first");
  await home.succeed(["repo", "add", "--in-tree"], { folder });
}

await makeTree(main);
await home.succeed(["set", "svc.provider=base", "--local"], { folder: main });
const localFolder = join(home.homeFolder, "local");
const [localFile = ""] = await readdir(localFolder);
const localText = () => readFile(join(localFolder, localFile), "utf8");
const ofMain = await localText();
const editor = join(home.workFolder, "editor");
const script = `case "$(cat "$1")" in *config*) sed -i 's/"[a-z]*\\.test"/"whole.test"/' "$1";; *test*) echo edited.test > "$1";; *) echo 60 > "$1";; esac`;
await writeFile(editor, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
const environment = { EDITOR: `'${editor}'`, VISUAL: "" };

const rows = Object.entries(places).flatMap(([place, own]) =>
  [...everywhere, ...own].map(row => [place, ...row] as const),
);
let count = 0;
test.each(rows)("in a %s: %s", async (place, commands, ofShared, ofLocal) => {
  count += 1;
  const folder = join(home.workFolder, `tree-${count}`);
  const isLinked = place === "linked worktree";
  await (isLinked ? git(main, "worktree", "add", "-q", folder) : makeTree(folder));
  const values = async (...args: readonly string[]) => JSON.parse(await home.succeed(args, { folder })).svc ?? {};
  const { revision: before } = await home.json(["list", "--with-revision"], { folder });
  await home.succeed(["set", "svc.domain=mine.test", "--local"], { folder });
  await writeFile(join(folder, "f.json"), JSON.stringify({ svc: imported }));
  await writeFile(join(folder, "exported.json"), await home.succeed(["export"], { folder }));
  for (const command of commands.replaceAll("BEFORE", before).split("; ")) {
    const { code, errorOutput } = await home.run(command.split(" "), { folder, environment });
    expect([code, errorOutput], command).toEqual([0, expect.any(String)]);
  }
  expect([await values("export", "--shared"), await values("export", "--local")]).toEqual([ofShared, ofLocal]);
  const counts = { ...ofShared, ...(isLinked && base), ...ofLocal };
  expect([await values("export"), await values("list", "--stored", "--json")]).toEqual([counts, counts]);
  expect(JSON.parse(await treeText(folder)).config.svc).toEqual(ofShared);
  expect([await treeText(main), await localText()]).toEqual([text, ofMain]);
});

test("none of them changed the values of one's own of the main work tree", async () => {
  expect(JSON.parse(await home.succeed(["export", "--local"], { folder: main }))).toEqual({ svc: base });
});
