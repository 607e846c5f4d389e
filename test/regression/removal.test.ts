import { rename, unlink } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { RepositoryEntry } from "../../shared/protocol.ts";
import { untilHealth } from "../helpers/broken-file.ts";
import { startTestDaemon, type TestDaemon, until } from "../helpers/daemon.ts";
import { systemError, watchFileSystem } from "../helpers/file-system.ts";
import { RevisionNotes, timeoutOf } from "../helpers/revision-notes.ts";

const noRescans = { rescanInterval: 3_600_000 };

describe("the revisions of a removed repository continue", () => {
  const returns: {
    readonly [how: string]: { readonly same: boolean; restore(t: TestDaemon, movedTo: string): Promise<void> };
  } = {
    "its file is put back by hand": {
      same: true,
      restore: async (t, movedTo) => {
        await rename(movedTo, t.repositoryFile("a"));
      },
    },
    "its file is put back by hand while no daemon runs": {
      same: true,
      restore: async (t, movedTo) => {
        await t.daemon.close();
        await rename(movedTo, t.repositoryFile("a"));
        await t.restart();
      },
    },
    "its id is added again": {
      same: false,
      restore: async t => {
        await t.addRepository("a");
      },
    },
    "its id is added again after a restart": {
      same: false,
      restore: async t => {
        await t.restart();
        await t.addRepository("a");
      },
    },
  };
  test.each(Object.entries(returns))("when %s", async (_how, { same, restore }) => {
    await using t = await startTestDaemon(noRescans);
    const notes = new RevisionNotes();
    await t.addRepository("a");
    await notes.set(t, "a", 1, 2, 3);
    const before = notes.highest;
    const { result } = await t.owner.call("repo/remove", { repo: "a" });
    await restore(t, result.movedTo ?? "");
    await until(async () => (await repository(t, "a")) !== undefined, "the repository to exist again");
    // The same state keeps its revision; a different one gets the next.
    expect(await notes.note(t, "a")).toBe(same ? before : before + 1);
    await notes.set(t, "a", 4, 5);
    await t.restart();
    await notes.note(t, "a");
    const { result: history } = await t.owner.call("history/list", { repo: "a" });
    expect(history.map(({ revision }) => revision)).toEqual(descendingFrom(notes.highest));
  });
});

describe("removing a repository", () => {
  test("whose file was deleted by hand replies without movedTo", async () => {
    await using t = await startTestDaemon(noRescans);
    await t.addRepository("a");
    await unlink(t.repositoryFile("a"));
    await untilHealth(t, "a", health => health.length > 0);
    const { result, errors } = await t.owner.call("repo/remove", { repo: "a" });
    expect(errors).toEqual([]);
    expect(result).not.toHaveProperty("movedTo");
    expect(await repository(t, "a")).toBeUndefined();
  });

  const failures: {
    readonly [what: string]: (folder: string) => { readonly operation: string; readonly path: string };
  } = {
    "the file": folder => ({ operation: "rename", path: `${folder}/repos/a.json` }),
    "the folder for removed files": folder => ({ operation: "sync", path: `${folder}/removed` }),
  };
  test.each(Object.entries(failures))(
    "while the disk fails at %s is refused with 1108, and the repository stays",
    async (_what, failing) => {
      const fileSystem = watchFileSystem();
      await using t = await startTestDaemon({ ...noRescans, fileSystem });
      const notes = new RevisionNotes();
      await t.addRepository("a");
      await notes.set(t, "a", 31);
      const fails = failing(t.homeFolder);
      fileSystem.before = ({ operation, path }) => {
        if (operation === fails.operation && path === fails.path) throw systemError("EIO");
      };
      const { errors } = await t.owner.call("repo/remove", { repo: "a" });
      fileSystem.before = () => {};
      expect(errors.map(({ code, details }) => ({ code, details }))).toEqual([
        { code: 1108, details: { cause: "EIO" } },
      ]);
      expect(await t.readRepository("a")).toContain("31");
      expect(await repository(t, "a")).toMatchObject({ health: [] });
      await notes.set(t, "a", 32);
      await t.restart();
      expect(await timeoutOf(t, "a")).toBe(32);
      expect((await t.owner.call("repo/remove", { repo: "a" })).errors).toEqual([]);
    },
  );
});

async function repository(t: TestDaemon, id: string): Promise<RepositoryEntry | undefined> {
  return (await t.owner.call("repo/list")).result.find(entry => entry.id === id);
}

/** All whole numbers from this one down to 1. */
function descendingFrom(highest: number): number[] {
  return Array.from({ length: highest }, (_, index) => highest - index);
}
