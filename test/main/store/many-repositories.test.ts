import { readdirSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDaemon } from "../../../main/daemon/daemon.ts";
import { noRescans, startTestDaemon } from "../../helpers/daemon.ts";
import { watchFileSystem } from "../../helpers/file-system.ts";
import { timeoutOf } from "../../helpers/shared-world.ts";
import { titleWith } from "../../helpers/skips.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

const total = 1_500;
const idOf = (index: number) => `r${String(index).padStart(5, "0")}`;
let home: Awaited<ReturnType<typeof temporaryFolder>>;

/** A home with many repositories, and the index that a first daemon wrote. */
beforeAll(async () => {
  home = await temporaryFolder();
  const folder = join(home.path, "repos");
  await mkdir(folder);
  const write = (index: number) =>
    writeFile(join(folder, `${idOf(index)}.json`), `{ "config": { "svc": { "timeout": ${index} } } }\n`);
  await Promise.all(Array.from({ length: total }, (_, index) => write(index)));
  await using t = await startTestDaemon({ home: home.path });
  // Waits until all first revisions are on the disk.
  const { result } = await t.owner.socket.emitWithAck("svc", "repo", "list", { limit: 1 });
  expect(result).toHaveLength(1);
});

afterAll(() => home[Symbol.asyncDispose]());

test("neither a start with a matching index nor a list of all repositories opens a repository's file", async () => {
  const fileSystem = watchFileSystem();
  const logger = pino({ level: "silent" });
  const daemon = await createDaemon({ home: home.path, version: "0", port: 0, logger }, { fileSystem });
  const opened = () => fileSystem.calls.filter(({ operation }) => operation === "open").map(({ path }) => path);
  // The log, the index, trusted values and those that limited keys set, drafts, proposals, what was found, and daemon.json with its folder.
  const isOfLog = (path: string) => path === join(home.path, "log") || dirname(path) === join(home.path, "log");
  expect(new Set(opened().filter(path => !isOfLog(path)))).toEqual(
    new Set([
      ...["index", "trust", "plain-values", "drafts", "proposals", "findings", "tmp/daemon"].map(name =>
        join(home.path, `${name}.json`),
      ),
      home.path,
    ]),
  );
  await daemon.close();

  await using t = await startTestDaemon({ home: home.path, fileSystem });
  const before = opened().length;
  const { result, next } = await t.owner.call("repo/list", { limit: 1000, after: idOf(499) });
  expect(result).toHaveLength(1000);
  expect(next).toBeUndefined();
  expect(result.at(-1)).toMatchObject({ id: idOf(1_499), revision: 1, modified: 1 });
  // The rescan that the list waited for has compared them all.
  expect(opened().slice(before)).toEqual([]);
  expect(await timeoutOf(t, idOf(711))).toBe(711);
  const id = idOf(711);
  expect(opened().slice(before)).toEqual([
    join(home.path, "repos", `${id}.json`),
    join(home.path, "journal", `${id}.0-0.jsonl`),
  ]);
});

const inotify = await readdir("/proc/self/fdinfo").then(
  () => true,
  () => false,
);

test.skipIf(!inotify)(
  titleWith(inotify, "/proc", "a running daemon uses a few watches, not one per file, and notices an edit of any file"),
  async () => {
    await using t = await startTestDaemon({ home: home.path, ...noRescans });
    await t.owner.call("repo/list", { limit: 1 });
    const repo = idOf(987);
    await t.owner.call("config/watch", { repo });
    const text = await readFile(t.repositoryFile(repo), "utf8");
    await t.writeRepository(repo, text.replace("987", "12"));
    expect(await t.owner.nextChange()).toMatchObject({
      repo,
      source: "file",
      changes: { svc: { timeout: { value: 12 } } },
    });
    expect(countWatches()).toBeGreaterThan(0);
    expect(countWatches()).toBeLessThan(20);
  },
);

/** The inotify watches of this process. */
function countWatches(): number {
  let watches = 0;
  for (const descriptor of readdirSync("/proc/self/fdinfo")) {
    try {
      watches += readFileSync(join("/proc/self/fdinfo", descriptor), "utf8").match(/^inotify wd:/gm)?.length ?? 0;
    } catch {
      // The descriptor of the listing itself is closed by now.
    }
  }
  return watches;
}
