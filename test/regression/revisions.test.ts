import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createDaemon } from "../../main/daemon/daemon.ts";
import { halfAFile, replaceFile, untilHealth } from "../helpers/broken-file.ts";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../helpers/file-system.ts";
import { freezeHome } from "../helpers/frozen-home.ts";
import { RevisionNotes, timeoutOf } from "../helpers/revision-notes.ts";

const noRescans = { rescanInterval: 3_600_000 };

describe("no revision is assigned twice", () => {
  test("after a stop whose index could not be saved", async () => {
    const fileSystem = watchFileSystem();
    await using t = await startTestDaemon({ ...noRescans, fileSystem });
    const notes = new RevisionNotes();
    await t.addRepository("a");
    await notes.set(t, "a", 1);
    await t.restart();
    await notes.set(t, "a", 10, 20, 30);
    await t.addRepository("new");
    await notes.set(t, "new", 10, 20, 30);
    fileSystem.before = ({ path }) => {
      if (path.endsWith("/tmp/index.json")) throw systemError("ENOSPC");
    };
    await t.restart();
    fileSystem.before = () => {};
    for (const repo of ["a", "new"]) {
      expect(await timeoutOf(t, repo)).toBe(30);
      await notes.note(t, repo);
      await notes.set(t, repo, 40, 50);
    }
    const stale = await t.owner.call("config/set", { repo: "a", "svc.timeout": 11, revision: 3 });
    expect(stale.errors.map(({ code }) => code)).toEqual([1104]);
  });

  test("after a SIGKILL and then a start that is stopped before it has checked every file", async () => {
    await using t = await startTestDaemon(noRescans);
    const notes = new RevisionNotes();
    // More than are checked concurrently.
    const others = Array.from({ length: 40 }, (_, i) => `a${i}`);
    for (const id of [...others, "last"]) await t.addRepository(id);
    await t.restart();
    await notes.set(t, "last", 10, 20, 30);
    await using frozen = await freezeHome(t.homeFolder);
    for (const id of others) await replaceFile(join(frozen.path, `repos/${id}.json`), "{}");
    const fileSystem = watchFileSystem();
    const stopped = Promise.withResolvers<void>();
    fileSystem.before = async ({ path }) => {
      if (path.includes("/repos/a")) await stopped.promise;
    };
    const logger = pino({ level: "silent" });
    const daemon = await createDaemon({ home: frozen.path, version: "0.0.0-test", port: 0, logger, fileSystem });
    const closing = daemon.close();
    // The store is closing once the port no longer answers.
    await until(
      () =>
        fetch(daemon.url).then(
          () => false,
          () => true,
        ),
      "the daemon to be stopping",
    );
    setImmediate(stopped.resolve);
    await closing;
    await using after = await startTestDaemon({ ...noRescans, home: frozen.path });
    expect(await timeoutOf(after, "last")).toBe(30);
    await notes.note(after, "last");
    await notes.set(after, "last", 40, 50);
  });
});

describe("last valid values", () => {
  const refused = '{ "name": "a", "config": { "svc": { "timeout": "soon" } } }';
  const fixed = '{ "name": "a", "config": { "svc": { "timeout": 77 } } }';

  test("stay active for an invalid value after a restart, with the same revision", async () => {
    await using t = await startTestDaemon(noRescans);
    const notes = new RevisionNotes();
    await t.addRepository("a");
    await notes.set(t, "a", 31);
    await replaceFile(t.repositoryFile("a"), refused);
    await untilHealth(t, "a", health => health.length > 0);
    expect(await timeoutOf(t, "a")).toBe(31);
    const before = await notes.note(t, "a");
    for (const _ of [1, 2]) {
      await t.restart();
      expect(await timeoutOf(t, "a")).toBe(31);
      expect(await notes.note(t, "a")).toBe(before);
    }
    await notes.set(t, "a", 32);
    expect(await notes.note(t, "a")).toBe(before + 1);
  });

  test("stay active for a broken file after a restart; fixing it creates a new revision and an event", async () => {
    await using t = await startTestDaemon(noRescans);
    const notes = new RevisionNotes();
    await t.addRepository("a");
    await notes.set(t, "a", 31);
    await replaceFile(t.repositoryFile("a"), halfAFile);
    await untilHealth(t, "a", health => health.length > 0);
    const before = await notes.note(t, "a");
    await t.restart();
    expect(await timeoutOf(t, "a")).toBe(31);
    expect(await notes.note(t, "a")).toBe(before);
    await t.owner.call("config/watch", { repo: "a" });
    await replaceFile(t.repositoryFile("a"), fixed);
    const change = await t.owner.nextChange();
    const changes = { svc: { timeout: { value: 77, previous: 31 } } };
    expect(change).toMatchObject({ repo: "a", revision: before + 1, source: "file", changes });
    expect(await timeoutOf(t, "a")).toBe(77);
    expect(await notes.note(t, "a")).toBe(change.revision);
  });

  test.each([halfAFile, refused])("give way to a new revision when %s is fixed while no daemon runs", async text => {
    await using t = await startTestDaemon(noRescans);
    const notes = new RevisionNotes();
    await t.addRepository("a");
    await notes.set(t, "a", 30, 31);
    await replaceFile(t.repositoryFile("a"), text);
    await untilHealth(t, "a", health => health.length > 0);
    const before = await notes.note(t, "a");
    await t.restart();
    await t.daemon.close();
    await replaceFile(t.repositoryFile("a"), fixed);
    await t.restart();
    expect(await timeoutOf(t, "a")).toBe(77);
    expect(await notes.note(t, "a")).toBe(before + 1);
  });
});
