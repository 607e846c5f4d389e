import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { valueIn } from "../../../main/git/git-config.ts";
import { normalizedRemote, readRemote } from "../../../main/git/git-remote.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

test.each([
  "https://github.com/acme/shop.git",
  "https://github.com/acme/shop",
  "https://GitHub.com:443/acme/shop.git/",
  "https://somebody:password@github.com/acme/shop.git",
  "https://token@github.com/acme/shop",
  "http://github.com/acme/shop.git?token=secret#secret",
  "ssh://git@github.com/acme/shop.git",
  "ssh://git@github.com:22/acme/shop.git",
  "git+ssh://git@github.com/acme/shop.git",
  "git://github.com/acme/shop.git",
  "git@github.com:acme/shop.git",
  "git@GitHub.com:/acme/shop.git",
  "github.com:acme/shop",
])("%s is the same remote by any other address", url => {
  expect(normalizedRemote(url)).toBe("github.com/acme/shop");
});

test.each([
  ["https://git.example.org:3000/acme/shop", "git.example.org:3000/acme/shop"],
  ["ssh://git@git.example.org:2222/~me/shop.git", "git.example.org:2222/~me/shop"],
  ["git@git.example.org:Acme/Shop.git", "git.example.org/Acme/Shop"],
  ["ssh://[::1]/srv/shop.git", "[::1]/srv/shop"],
])("%s normalizes to %s", (url, remote) => {
  expect(normalizedRemote(url)).toBe(remote);
});

test.each([
  "/srv/git/shop.git",
  "../shop",
  "file:///srv/git/shop.git",
  "C:\\git\\shop",
  "C:/git/shop",
  "https://github.com",
  "https://github.com/",
  "ext::sh -c secret",
  "https://user:12/secret@github.com/acme/shop",
  "user:secret@github.com:acme/shop",
  "https://github.com/%",
  `https://github.com/${"x".repeat(1_000)}`,
  "",
])("%s is not a remote that two machines could share", url => {
  expect(() => {
    const remote = normalizedRemote(url);
    if (remote !== undefined) throw new Error(remote);
  }).not.toThrow(/secret|github/);
});

const origin = (config: string) => valueIn(config, "remote", "origin", "url");

test("the remote origin is read from git's configuration", () => {
  const config = `
[core]
	bare = false
[remote "upstream"]
	url = https://example.org/other
[Remote "origin"] # of this clone
	fetch = +refs/heads/*:refs/remotes/origin/*
	URL = "https://example.org/shop" ; the first one
	url = https://example.org/second
[branch "main"]
	remote = origin`;
  expect(origin(config)).toBe("https://example.org/shop");
  expect(origin('[remote "origin"] url = git@example.org:shop.git # here')).toBe("git@example.org:shop.git");
  expect(origin('[remote "other"]\n\turl = https://example.org/shop')).toBeUndefined();
  expect(origin('[remote "origin"]\n\tpushurl = https://example.org/shop')).toBeUndefined();
});

test("a clone, a linked work tree and a submodule have their remotes; a folder below one, and any other folder, has none", async () => {
  await using folder = await temporaryFolder();
  const at = (...names: string[]) => join(folder.path, ...names);
  const config = '[remote "origin"]\n\turl = git@example.org:acme/shop.git\n';
  await mkdir(at("clone/.git/worktrees/linked"), { recursive: true });
  await mkdir(at("clone/source"));
  await mkdir(at("linked"));
  await mkdir(at("empty"));
  await writeFile(at("clone/.git/config"), config);
  await writeFile(at("clone/.git/worktrees/linked/commondir"), "../..\n");
  await writeFile(at("clone/.git/worktrees/linked/gitdir"), `${at("linked/.git")}\n`);
  await writeFile(at("linked/.git"), `gitdir: ${at("clone/.git/worktrees/linked")}\n`);
  expect(await readRemote(at("clone"))).toBe("example.org/acme/shop");
  expect(await readRemote(at("linked"))).toBe("example.org/acme/shop");
  for (const name of ["clone/source", "empty", "missing"]) expect(await readRemote(at(name))).toBeUndefined();
});
