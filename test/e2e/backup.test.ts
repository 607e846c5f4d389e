import { mkdir, readdir, readFile, rename as renameFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { create, extract, Header, list } from "tar";
import { describe, expect, test } from "vitest";
import { homeFormat } from "../../main/home/prepare-home.ts";
import {
  addRepositories,
  addShop,
  type CommandHome,
  makeCommandHome,
  makeServedHome,
} from "../helpers/command-home.ts";
import { until } from "../helpers/daemon.ts";
import { homeFiles } from "../helpers/home-files.ts";
import { hostileEntries } from "../helpers/hostile-entries.ts";
import { connect } from "../helpers/patient-client.ts";
import { onTerminal, runRepoconf } from "../helpers/spawned-daemon.ts";

interface Entry {
  readonly path: string;
  readonly text?: string;
  readonly type?: "File" | "SymbolicLink" | "Link" | "FIFO" | "CharacterDevice" | "BlockDevice" | "Directory";
  /** What the entry claims, if it is not the text's. */
  readonly size?: number;
}

const manifest: Entry = { path: "manifest.json", text: `{ "format": 1, "createdAt": "2026-01-31T12:00:00.000Z" }` };
const format: Entry = { path: "format", text: "1\n" };

/** Creates an archive with any entries, including ones that no backup contains. */
function archive(...entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap(({ path, text = "", type = "File", size = Buffer.byteLength(text) }) => {
    const block = Buffer.alloc(512);
    new Header({ path, type, size, mode: 0o644, ...(type.endsWith("Link") && { linkpath: "/etc/hosts" }) }).encode(
      block,
    );
    return [block, Buffer.from(text), Buffer.alloc(-Buffer.byteLength(text) & 511)];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}

/** Each kind of entry that is no file, with the name of each kind of file. */
const hostileMembers: readonly Entry[] = (
  ["SymbolicLink", "Link", "FIFO", "CharacterDevice", "BlockDevice", "Directory"] as const
).flatMap((type, index) =>
  [`repos/a${index}.json`, `journal/a${index}.0-0.jsonl`, `log/000000000${index}.log`, `scopes/a${index}.schema.json`]
    .concat(`removed/a${index}.json`, index === 0 ? "settings.json" : [])
    .map(path => ({ path, type })),
);

/** The names in an archive, without those of the log, whose numbers vary. */
async function namesIn(file: string): Promise<string[]> {
  const names: string[] = [];
  await list({ file, strict: true, onReadEntry: entry => void names.push(entry.path) });
  return names.filter(name => !/^log\/\d{10}\.log$/.test(name)).sort();
}

/** A home with the repository `shop` and without a running daemon. */
async function makeStoppedHome(): Promise<CommandHome> {
  const home = await makeCommandHome();
  await home.put("format", "1\n");
  await home.put("repos/shop.json", `{ "name": "shop", "config": { "svc": { "timeout": 30 } } }`);
  return home;
}

describe.concurrent("repoconf backup", () => {
  test("a home is backed up while its daemon runs and restored into another home, which keeps its own keys and log", async () => {
    await using home = await addShop(await makeServedHome(), ["svc.timeout=30"]);
    const file = join(home.workFolder, "backup.tar.gz");
    await home.run(["key", "create", "tool"]);
    using client = await connect({ home: home.homeFolder });
    const { position = "" } = await client.run("config/watch", {});
    await home.succeed(["repo", "add", home.homeFolder, "--id", "gone"]);
    await home.succeed(["repo", "remove", "gone", "--yes"]);
    await home.put("settings.json", `{ "origins": ["http://a.test"] }`);
    const schema = { type: "object", properties: { size: { type: "integer", default: 1 } } };
    await home.put("scopes/extra.schema.json", schema);
    await home.succeed(["set", "--repo", "shop", "svc.domain=own.test", "--local"]);
    const saved = await home.succeed(["backup", "backup.tar.gz"]);
    expect(saved).toContain("Saved 1 repository");
    expect(saved).not.toContain("local/");

    expect(await namesIn(file)).toEqual([
      "format",
      "journal/_local-shop.0-0.jsonl",
      // The journal of a removed repository is included too.
      "journal/gone.0-0.jsonl",
      "journal/shop.0-0.jsonl",
      "local/shop.json",
      "manifest.json",
      expect.stringMatching(/^removed\/gone\..*\.json$/),
      "repos/shop.json",
      "scopes/extra.schema.json",
      "settings.json",
    ]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    await using other = await makeCommandHome();
    await other.succeed(["repo", "list", "--json"]);
    await other.succeed(["stop"]);
    const ownKey = await readFile(join(other.homeFolder, "owner.key"), "utf8");
    expect(await other.succeed(["backup", "--restore", file, "--yes"])).toContain("Restored 1 repository");
    expect(await readFile(join(other.homeFolder, "owner.key"), "utf8")).toBe(ownKey);
    const shop = ["repos/shop.json", "journal/shop.0-0.jsonl", "settings.json", "scopes/extra.schema.json"];
    for (const name of shop) {
      // A history may have had one more record of the file since.
      const copied = await readFile(join(other.homeFolder, name), "utf8");
      expect((await readFile(join(home.homeFolder, name), "utf8")).slice(0, copied.length)).toBe(copied);
      expect((await stat(join(other.homeFolder, name))).mode & 0o777).toBe(0o600);
    }
    expect(await other.succeed(["get", "svc.timeout", "svc.domain", "--repo", "shop"])).toBe("30\nown.test\n");
    // The restored files do not count as hand edits.
    const history = ["history", "--repo", "shop", "--json"];
    expect(JSON.parse(await other.succeed(history))).toEqual(JSON.parse(await home.succeed(history)));
    expect(await other.succeed(["get", "extra.size", "--repo", "shop"])).toBe("1\n");
    expect(await other.json(["key", "list"])).toEqual([]);
    // It has a log of its own: positions of the original log are refused.
    using restored = await connect({ home: other.homeFolder });
    expect((await restored.request("config/watch", { position })).errors).toMatchObject([{ code: 1110 }]);
    expect((await client.request("config/watch", { position })).errors).toEqual([]);
  });

  test("the file of a removed repository with the longest possible id is backed up and restored too", async () => {
    await using home = await makeServedHome();
    const id = "i".repeat(64);
    await home.succeed(["repo", "add", home.workFolder, "--id", id, "--name", "shop"]);
    await home.succeed(["set", "--repo", id, "svc.timeout=30"]);
    using client = await connect({ home: home.homeFolder });
    const { movedTo = "" } = await client.run("file/restore", { repo: id });
    await home.succeed(["repo", "remove", id, "--yes"]);
    const removed = await homeFiles(join(home.homeFolder, "removed"));
    expect(Object.keys(removed)).toHaveLength(2);
    expect(Object.keys(removed)).toContain(basename(movedTo));
    const saved = await home.succeed(["backup", "backup.tar.gz"]);
    expect(saved).not.toContain("removed/");

    await using other = await makeCommandHome();
    await other.succeed(["backup", "--restore", join(home.workFolder, "backup.tar.gz"), "--yes"]);
    expect(await homeFiles(join(other.homeFolder, "removed"))).toEqual(removed);
  });

  test("a journal is saved up to its last complete record, only its newest generation, and with its damaged lines", async () => {
    await using home = await makeCommandHome();
    await home.succeed(["repo", "add", home.workFolder, "--id", "shop"]);
    await home.succeed(["set", "svc.domain=old.test"]);
    const journal = join(home.homeFolder, "journal");
    const old = await readFile(join(journal, "shop.0-0.jsonl"));
    await home.succeed(["set", "svc.domain=new.test"]);
    await home.succeed(["history", "forget", "svc.domain", "--yes"]);
    await home.succeed(["stop"]);
    // Files of a daemon that was killed before it deleted the old generation, or while it wrote a record.
    await writeFile(join(journal, "shop.0-0.jsonl"), old);
    await writeFile(join(journal, "shop.0-0.jsonl.damaged"), "old.test");
    const whole = await readFile(join(journal, "shop.1-0.jsonl"), "utf8");
    await writeFile(join(journal, "shop.1-0.jsonl"), `${whole}torn`);
    await home.succeed(["backup", "backup.tar.gz"]);
    const file = join(home.workFolder, "backup.tar.gz");
    expect(await namesIn(file)).toEqual(["format", "journal/shop.1-0.jsonl", "manifest.json", "repos/shop.json"]);
    const saved = gunzipSync(await readFile(file)).toString();
    expect(saved).toContain(whole);
    expect(saved).not.toContain("torn");
    expect(saved).not.toContain("old.test");
  });

  test("a change between saving the journal and the file counts as a hand edit after a restore, and none is lost", async () => {
    await using home = await makeCommandHome();
    await home.succeed(["repo", "add", home.workFolder, "--id", "shop"]);
    await home.succeed(["set", "svc.timeout=1"]);
    const journal = join(home.homeFolder, "journal/shop.0-0.jsonl");
    const before = await readFile(journal);
    await home.succeed(["set", "svc.timeout=2"]);
    await home.succeed(["stop"]);
    await writeFile(journal, before);
    await home.succeed(["backup", "backup.tar.gz"]);
    await home.succeed(["backup", "--restore", "backup.tar.gz", "--yes"]);
    expect(await home.succeed(["get", "svc.timeout"])).toBe("2\n");
    const history = await home.json(["history"]);
    expect(history).toMatchObject([
      { revision: 3, source: "file", changes: { svc: { timeout: { previous: 1, value: 2 } } } },
      { revision: 2, source: "set" },
      { revision: 1, source: "set" },
    ]);
  });

  test("a backup that is made while sets run is one moment: it has no missing or invented revision, and only complete atomic sets", async () => {
    await using home = await makeServedHome();
    const ids = ["one", "two", "three"];
    await addRepositories(home, ...ids);
    using client = await connect({ home: home.homeFolder });
    let next = 1;
    let isEnded = false;
    const setting = async () => {
      while (!isEnded) {
        await client.run("config/set", { repo: ids, atomic: true, "svc.timeout": next++ });
        for (const id of ids) await client.set(id, { "svc.domain": `${next}.test` });
      }
    };
    const running = setting();
    await until(async () => next > 3, "the first sets");
    for (let round = 0; round < 2; round++) {
      const begun = next;
      await home.succeed(["backup", `${round}.tar.gz`]);
      await until(async () => next > begun, "a set");
    }
    isEnded = true;
    await running;
    for (let round = 0; round < 2; round++) {
      await using other = await makeCommandHome();
      await other.succeed(["backup", "--restore", join(home.workFolder, `${round}.tar.gz`), "--yes"]);
      await other.succeed(["repo", "list"]);
      using restored = await connect({ home: other.homeFolder });
      const timeouts = new Set<unknown>();
      for (const id of ids) {
        timeouts.add(await restored.get(id, "svc.timeout"));
        const revisions: string[] = [];
        for await (const { revision, source } of restored.history(id)) revisions.unshift(`${revision} ${source}`);
        expect(revisions).toEqual(revisions.map((_, index) => `${index + 1} set`));
        expect(revisions.length).toBeGreaterThan(3);
      }
      expect([...timeouts]).toHaveLength(1);
    }
  });

  test("a backup contains no keys and no files of the running daemon, and of in-tree repositories only the history, which is said", async () => {
    await using home = await makeServedHome();
    const { key } = await home.json(["key", "create", "tool"]);
    await home.succeed(["repo", "add", home.workFolder, "--id", "tree", "--name", "my tree", "--in-tree"]);
    await home.succeed(["set", "--repo", "tree", "svc.domain=in-the-tree.test"]);
    const output = await home.succeed(["backup", "backup.tar.gz"]);
    for (const part of ["only the history", "work trees (my tree)"]) expect(output).toContain(part);
    const read = (name: string) => readFile(join(home.homeFolder, name), "utf8");
    const { instanceSecret } = JSON.parse(await read("daemon.json"));
    const { keys } = JSON.parse(await read("keys.json"));
    const file = join(home.workFolder, "backup.tar.gz");
    const saved = gunzipSync(await readFile(file)).toString("latin1");
    expect(saved).toContain("my tree");
    for (const secret of [key, (await read("owner.key")).trim(), keys[0].hash, instanceSecret]) {
      expect(secret).toMatch(/\S{20}/);
      expect(saved).not.toContain(secret);
    }
    expect(await namesIn(file)).toEqual(["format", "journal/tree.0-0.jsonl", "manifest.json", "repos/tree.json"]);
  });

  test("an existing archive is replaced only with --force", async () => {
    await using home = await makeStoppedHome();
    const file = join(home.workFolder, "backup.tar.gz");
    await writeFile(file, "mine");
    await home.refuse(1, ["backup", "backup.tar.gz"], "--force");
    expect(await readFile(file, "utf8")).toBe("mine");
    await home.succeed(["backup", "backup.tar.gz", "--force"]);
    expect(await namesIn(file)).toEqual(["format", "manifest.json", "repos/shop.json"]);
    expect(await readdir(home.workFolder)).toEqual(["backup.tar.gz", basename(home.homeFolder)]);
  });

  test("files that are not Repoconf's are left out and named, and a broken repository's file is saved as it is", async () => {
    await using home = await makeStoppedHome();
    await home.put("repos/notes.txt", "mine");
    await home.put("repos/broken.json", "{ not JSON");
    const { code, errorOutput } = await home.run(["backup", "backup.tar.gz"]);
    expect([code, errorOutput]).toEqual([0, "Not included, because these are not Repoconf files: repos/notes.txt\n"]);
    expect(await namesIn(join(home.workFolder, "backup.tar.gz"))).toContain("repos/broken.json");
  });

  test("a folder that is not a home, and a home of a newer version, are refused, also by a restore", async () => {
    await using home = await makeCommandHome();
    // A file and --restore exclude each other, and one of them is needed.
    for (const args of [["backup"], ["backup", "one", "--restore", "other"]]) await home.refuse(2, args, "");
    await home.refuse(1, ["backup", "backup.tar.gz"], "is not a Repoconf home");
    await home.put("format", `${homeFormat + 1}\n`);
    await home.refuse(1, ["backup", "backup.tar.gz"], "Install the newer version");
    expect(await readdir(home.workFolder)).toEqual([basename(home.homeFolder)]);
    await writeFile(join(home.workFolder, "backup.tar.gz"), archive(manifest, format));
    await home.refuse(1, ["backup", "--restore", "backup.tar.gz", "--yes"], "Install the newer version");
    expect(await readdir(home.homeFolder)).toEqual(["format"]);
    await rm(home.homeFolder, { recursive: true });
  });
});

describe.concurrent("repoconf backup --restore", () => {
  test("the files that were there before are kept aside; with a backup without a journal, the history starts over", async () => {
    await using home = await addShop(await makeCommandHome(), ["svc.timeout=1"]);
    await home.succeed(["stop"]);
    const shop = await readFile(join(home.homeFolder, "repos/shop.json"), "utf8");
    const blog = { path: "repos/blog.json", text: `{ "name": "blog", "config": { "svc": { "timeout": 7 } } }` };
    await writeFile(join(home.workFolder, "backup.tar.gz"), archive(format, blog, manifest));
    const output = await home.succeed(["backup", "--restore", "backup.tar.gz", "--yes"]);
    const before = join(home.homeFolder, /before-restore-\S+/.exec(output)?.[0] ?? "");
    expect(await readFile(join(before, "repos/shop.json"), "utf8")).toBe(shop);
    expect(await readdir(join(before, "journal"))).toEqual(["shop.0-0.jsonl"]);
    expect(await readdir(join(home.homeFolder, "repos"))).toEqual(["blog.json"]);
    expect(await home.json(["history", "--repo", "blog"])).toMatchObject([
      { revision: 1, source: "file", changes: { svc: { timeout: { value: 7 } } } },
    ]);
    expect(await home.json(["repo", "list"])).toHaveLength(1);
    expect(await readFile(join(home.homeFolder, "format"), "utf8")).toBe(`${homeFormat}\n`);
  });

  test("an archive that was unpacked, edited and packed again with tar works too, with --yes", async () => {
    await using home = await makeStoppedHome();
    await home.succeed(["backup", "backup.tar.gz"]);
    const folder = join(home.workFolder, "unpacked");
    await mkdir(folder);
    await extract({ file: join(home.workFolder, "backup.tar.gz"), cwd: folder });
    await writeFile(join(folder, "repos/shop.json"), `{ "name": "shop", "config": { "svc": { "timeout": 7 } } }`);
    await create({ file: join(home.workFolder, "again.tar.gz"), gzip: true, cwd: folder }, await readdir(folder));
    const files = await homeFiles(home.homeFolder);
    // Without a terminal it asks for --yes, and changes nothing.
    await home.refuse(1, ["backup", "--restore", "again.tar.gz"], "--yes");
    expect(await homeFiles(home.homeFolder)).toEqual(files);
    await home.succeed(["backup", "--restore", "again.tar.gz", "--yes"]);
    expect(await home.succeed(["get", "svc.timeout", "--repo", "shop"])).toBe("7\n");
  });

  test("a running daemon prevents a restore, even if its daemon.json is missing; nothing changes", async () => {
    await using home = await makeStoppedHome();
    await home.succeed(["backup", "backup.tar.gz"]);
    await home.succeed(["set", "--repo", "shop", "svc.timeout=31"]);
    const endpointFile = join(home.homeFolder, "daemon.json");
    await home.refuse(1, ["backup", "--restore", "backup.tar.gz", "--yes"], "repoconf stop");
    await renameFile(endpointFile, `${endpointFile}.aside`);
    await home.refuse(1, ["backup", "--restore", "backup.tar.gz", "--yes"], "repoconf stop");
    await renameFile(`${endpointFile}.aside`, endpointFile);
    expect(await home.succeed(["get", "svc.timeout", "--repo", "shop"])).toBe("31\n");
  });

  test("an invalid archive is refused, and nothing is written", async () => {
    await using home = await makeStoppedHome();
    const files = await homeFiles(home.homeFolder);
    const good = archive(manifest, format, { path: "repos/blog.json", text: "{}" });
    const cases: readonly (readonly [content: Buffer, said: string])[] = [
      [archive(manifest, format, { path: "/etc/evil" }), `"/etc/evil" is not a Repoconf file`],
      [archive(manifest, format, { path: "repos/../../evil.json" }), "is not a Repoconf file"],
      [archive(manifest, format, { path: "../evil.json" }), "is not a Repoconf file"],
      [archive(manifest, format, { path: "owner.key" }), `"owner.key" is not a Repoconf file`],
      [archive(manifest, format, { path: "keys.json" }), `"keys.json" is not a Repoconf file`],
      [archive(manifest, format, { path: "repos/deep/shop.json" }), "is not a Repoconf file"],
      [archive(manifest, format, { path: "repos/con.json" }), "is not a Repoconf file"],
      [archive(manifest, format, { path: "journal/shop.jsonl" }), "is not a Repoconf file"],
      [archive(manifest, format, { path: "journal/../evil.0-0.jsonl" }), "is not a Repoconf file"],
      [archive(manifest, format, { path: "repos/shop.json", type: "SymbolicLink" }), "is a SymbolicLink"],
      [archive(manifest, format, { path: "repos/shop.json", type: "Link" }), "is a Link"],
      [archive(manifest, format, { path: "settings.json", type: "FIFO" }), "is a FIFO"],
      [archive(manifest, format, { path: "log/0000000001.log", type: "CharacterDevice" }), "is a CharacterDevice"],
      [archive(manifest, format, { path: "repos/shop.json", type: "Directory" }), "is a Directory"],
      [archive(manifest, format, { path: "repos/shop.json", size: 5 * 1024 ** 3 }), "has 5368709120 bytes"],
      [archive(manifest, format, { path: "log/0000000001.log", size: 900 * 1024 ** 2 }), "has at most 134217728"],
      [archive(manifest, format, { path: "journal/shop.0-0.jsonl", size: 5 * 1024 ** 3 }), "has 5368709120 bytes"],
      // Each kind in place of each file: five are named.
      [archive(manifest, format, ...hostileMembers), `and ${hostileMembers.length - 5} more`],
      [archive(manifest, format, format), "appears twice"],
      [archive(format, { path: "repos/blog.json" }), "is not a Repoconf backup"],
      [archive(manifest, { path: "repos/blog.json" }), "has format NaN"],
      [
        archive({ ...manifest, text: `{ "format": ${homeFormat + 1}, "createdAt": "" }` }, format),
        `has format ${homeFormat + 1}`,
      ],
      [archive(manifest, { ...format, text: `${homeFormat + 1}\n` }), `has format ${homeFormat + 1}`],
      [good.subarray(0, good.length - 20), "cannot be read as a backup"],
      [Buffer.from("not an archive"), "cannot be read as a backup"],
    ];
    const refuse = async ([content, said]: (typeof cases)[number], index: number) => {
      await writeFile(join(home.workFolder, `${index}.tar.gz`), content);
      await home.refuse(1, ["backup", "--restore", `${index}.tar.gz`, "--yes"], said);
    };
    await Promise.all(cases.map(refuse));
    expect(await homeFiles(home.homeFolder)).toEqual(files);
    await writeFile(join(home.workFolder, "good.tar.gz"), good);
    await home.succeed(["backup", "--restore", "good.tar.gz", "--yes"]);
  });

  test.skipIf(process.platform === "win32")("what is no archive's file is refused at once", async () => {
    await using home = await makeStoppedHome();
    for (const [kind, make] of Object.entries(hostileEntries)) {
      // An archive of that size may be one.
      if (kind === "a file that claims 5 GB") continue;
      const file = join(home.workFolder, `${kind}.tar.gz`);
      await make(file);
      await home.refuse(1, ["backup", "--restore", file, "--yes"], "cannot be read as a backup");
    }
  });

  test("what runs programs in a backup, and the home does not have, is shown before it is restored, its values on terminals only", async () => {
    await using home = await makeStoppedHome();
    const envvars = [{ name: "PATH", value: "/of/others" }];
    const settings = { secrets: { op: { command: ["steal"] } }, origins: ["https://others.test"] };
    // Null sets no variable.
    const variable = { type: ["string", "null"], default: null, "x-env": "NONE" };
    const properties = { run: { type: "string", default: "make theirs", "x-command": true }, variable };
    const file = (path: string, value: unknown): Entry => ({ path, text: JSON.stringify(value) });
    const entries = [
      file("settings.json", { ...settings, log: { address: "nats://others.test/x" } }),
      file("scopes/tasks.schema.json", { type: "object", properties }),
      file("repos/blog.json", {
        name: "weblog",
        config: { svc: { envvars }, tasks: { run: "own task", variable: null } },
      }),
      file("repos/site.json", { name: "site", path: "/of/others", inTree: true }),
    ];
    await writeFile(join(home.workFolder, "theirs.tar.gz"), archive(manifest, format, ...entries));
    const restore = ["backup", "--restore", "theirs.tar.gz"];
    const shown = [
      "settings.json starts a program for secrets cmd://op",
      "settings.json keeps all values on another server",
      "settings.json lets pages of this address connect",
      "tasks.run tells tools what to run, with this default in every repository",
      "tasks.run tells tools what to run, in weblog (blog)",
      "svc.envvars sets environment variables, in weblog (blog)",
      "/of/others belongs to a repository, in site",
    ];
    const values = ["steal", "nats://others.test/x", "https://others.test", "make theirs", "own task", `"/of/others"`];
    const asked = await runRepoconf(restore, {
      nodeArguments: onTerminal,
      folder: home.workFolder,
      environment: { REPOCONF_HOME: home.homeFolder },
    });
    expect(asked.errorOutput).toContain("Nothing was restored");
    for (const text of [...shown, ...values]) expect(asked.output).toContain(text);
    const { output } = await home.run([...restore, "--yes"]);
    for (const text of shown) expect(output).toContain(text);
    for (const text of [...values, "NONE"]) expect(output).not.toContain(text);
    expect((await home.run([...restore, "--yes"])).output).toMatch(/^Restored 2 repositories/);
  });

  test("while a restore runs, backup refuses, and doctor reports it", async () => {
    await using home = await makeStoppedHome();
    await home.put("restore.json", `{ "before": "before-restore-1", "brings": [], "keeps": [] }`);
    await mkdir(join(home.homeFolder, "before-restore-1"));
    await home.refuse(1, ["backup", "backup.tar.gz"], "repoconf restart");
    expect(await home.succeed(["doctor"])).toContain("a restore is in progress or was interrupted");
    await home.succeed(["restart"]);
    await home.succeed(["backup", "backup.tar.gz"]);
  });
});
