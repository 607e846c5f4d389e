import { cp, mkdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AppendError } from "../../../../main/store/log/commit-log.ts";
import { markStopped } from "../../../../main/store/log/log-folder.ts";
import { commitLogTests } from "../../../helpers/commit-log-contract.ts";
import { logFiles, openLog } from "../../../helpers/file-log.ts";
import { systemError, watchFileSystem } from "../../../helpers/file-system.ts";
import { temporaryFolder } from "../../../helpers/temporary-folder.ts";

/** What a start finds, and how much it reports as lost. */
async function start(folder: string) {
  const { found, lost, log } = await openLog(folder);
  await log.close();
  return [found, lost];
}

describe("a log of files", () => {
  describe("like every log", () =>
    commitLogTests(async () => {
      const { path, [Symbol.asyncDispose]: dispose } = await temporaryFolder();
      return { open: () => openLog(path), [Symbol.asyncDispose]: dispose };
    }));

  test("continues under a new id behind what a history names, with the entries that histories may lack", async () => {
    await using folder = await temporaryFolder();
    const { log, append } = await openLog(folder.path);
    await append(1, 2);
    await log.close();
    const known = [`${log.id}.7`];
    const renewed = await openLog(folder.path, { known });
    expect([renewed.found, renewed.log.newest]).toEqual([[1, 2], 7]);
    expect(renewed.problems).toEqual([expect.stringContaining("ends at entry 2")]);
    expect(renewed.log.id).not.toBe(log.id);
    await renewed.append(3);
    expect(renewed.committed).toEqual([[8, 3]]);
    await renewed.log.close();
    const again = await openLog(folder.path, { known });
    expect([again.found, again.log.newest, again.log.id]).toEqual([[1, 2, 3], 8, renewed.log.id]);
    expect(again.problems).toEqual([]);
    expect(again.log.numberOf(`${log.id}.2`)).toBe(2);
    await again.log.close();
  });

  test("tells the mark of a clean stop, with which no history needs to be asked, to the next start only", async () => {
    await using home = await temporaryFolder();
    const folder = join(home.path, "log");
    await mkdir(folder);
    const stops: unknown[] = [];
    for (const _ of ["before a stop", "after a clean stop", "after a kill"]) {
      const { log } = await openLog(folder, { stops });
      await log.close();
      if (stops.length === 1) await markStopped(folder, "a mark");
    }
    expect(stops).toEqual([undefined, "a mark", undefined]);
  });

  test("deletes nothing until its continuation under a new id is on the disk", async () => {
    await using folder = await temporaryFolder();
    const { log, append } = await openLog(folder.path);
    await append(1, 2);
    await log.close();
    const fileSystem = watchFileSystem();
    fileSystem.before = ({ operation, path }) => {
      if (operation === "rename" && path.endsWith(".new")) throw systemError("ENOSPC");
    };
    const known = [`${log.id}.7`];
    const failed = await openLog(folder.path, { fileSystem, known });
    await failed.log.release(2);
    await expect(failed.append(3)).rejects.toThrow("ENOSPC");
    await failed.log.close();
    const again = await openLog(folder.path, { known });
    expect(again.found).toEqual([1, 2]);
    await again.log.close();
  });

  test("continues under a new id if its files are copies", async () => {
    await using folder = await temporaryFolder();
    const { log, append } = await openLog(folder.path);
    await append(1);
    await log.close();
    await using copy = await temporaryFolder();
    await cp(folder.path, copy.path, { recursive: true, preserveTimestamps: true });
    const copied = await openLog(copy.path);
    expect([copied.found, copied.problems]).toEqual([[1], [expect.stringContaining("is a copy")]]);
    expect(copied.log.id).not.toBe(log.id);
    await copied.log.close();
    const again = await openLog(copy.path);
    expect([again.found, again.problems, again.log.id]).toEqual([[1], [], copied.log.id]);
    expect(again.log.copiedAt).toBe(1);
    await again.log.close();
  });

  test("does not accumulate files over many starts", async () => {
    await using folder = await temporaryFolder();
    for (let start = 1; start <= 20; start++) {
      const { log } = await openLog(folder.path);
      await log.release(log.newest);
      await log.close();
    }
    expect((await logFiles(folder.path)).length).toBeLessThanOrEqual(2);
  });

  test.each([
    ["one file", ["0000000000.log"]],
    ["files together", ["0000000000.log", "0000000003.log"]],
  ])("is not read if %s have more than any log has", async (_what, names) => {
    await using folder = await temporaryFolder();
    await (await openLog(folder.path)).log.close();
    for (const name of names) {
      await writeFile(join(folder.path, name), "");
      await truncate(join(folder.path, name), 150_000_000 / names.length);
    }
    const said = new RegExp(`${names.at(-1)} is not usable: it has \\d+ bytes; at most \\d+ are read.*move it away`);
    await expect(openLog(folder.path)).rejects.toThrow(said);
  });

  test("accepts an entry that is larger than a file should be", async () => {
    await using folder = await temporaryFolder();
    const opened = await openLog(folder.path);
    await Promise.all([
      opened.append(1),
      opened.append(...Array.from({ length: 30_000 }, (_, index) => index + 2)),
      opened.append(30_002),
    ]);
    await opened.log.close();
    expect(await start(folder.path)).toEqual([Array.from({ length: 30_002 }, (_, index) => index + 1), 0]);
  });
});

describe("a log after a crash", () => {
  test("has everything that was acknowledged, and nothing of an unfinished write from its first missing byte on", async () => {
    await using folder = await temporaryFolder();
    const opened = await openLog(folder.path);
    await opened.append(1);
    const [path = ""] = await logFiles(folder.path);
    const kept = (await readFile(path)).length;
    await Promise.all([opened.append(2), opened.append(3, 4)]);
    const whole = await readFile(path);
    await opened.log.close();
    for (let length = kept; length <= whole.length; length += 7) {
      await using copy = await temporaryFolder();
      await writeFile(path.replace(folder.path, copy.path), whole.subarray(0, length));
      const again = await openLog(copy.path);
      expect([[1], [1, 2], [1, 2, 3], [1, 2, 3, 4]]).toContainEqual(again.found);
      expect(again.lost).toBe(0);
      // The place of the lost rest is free for another entry.
      await again.append(9);
      await again.log.close();
      expect(await start(copy.path)).toEqual([[...again.found, 9], 0]);
    }
  });

  test("skips the lines of an unfinished write, whichever of them the disk has", async () => {
    await using folder = await temporaryFolder();
    const opened = await openLog(folder.path);
    await opened.append(1);
    await Promise.all([opened.append(2), opened.append(3)]);
    await opened.log.close();
    const [path = ""] = await logFiles(folder.path);
    await writeFile(path, (await readFile(path, "utf8")).replaceAll(`"value":2`, `"value":7`));
    expect(await start(folder.path)).toEqual([[1], 0]);
  });

  test.each([
    ["altered", (line: string) => line.replace(`"value":2`, `"value":7`)],
    ["missing", () => undefined],
    ["cut", (line: string) => line.slice(0, 40)],
  ])("reports an acknowledged line that is %s as lost, and keeps the others", async (_how, change) => {
    await using folder = await temporaryFolder();
    const opened = await openLog(folder.path);
    for (const timeout of [1, 2, 3]) await opened.append(timeout);
    await opened.log.close();
    const [path = ""] = await logFiles(folder.path);
    const lines = (await readFile(path, "utf8")).split("\n");
    const changed = lines.flatMap(line => (line.includes(`"value":2`) ? (change(line) ?? []) : [line]));
    await writeFile(path, changed.join("\n"));
    const again = await openLog(folder.path);
    expect([again.found, again.lost]).toEqual([[1, 3], 1]);
    expect(again.problems.join()).toMatch(/^entries of the log cannot be read,The log in .* is damaged at entry 2: /);
    // Positions in the old log are meaningless in the new one, and no number is used twice.
    expect(again.log.id).not.toBe(opened.log.id);
    await again.append(9);
    expect(again.committed).toEqual([[4, 9]]);
    await again.log.close();
    const third = await openLog(folder.path);
    expect([third.lost, third.log.id]).toEqual([1, again.log.id]);
    await third.log.release(4);
    await third.log.seal();
    await third.log.close();
    expect((await openLog(folder.path)).lost).toBe(0);
  });

  test("continues after the previous file if the last one was created but not used", async () => {
    await using folder = await temporaryFolder();
    const opened = await openLog(folder.path);
    await opened.append(1);
    await opened.log.close();
    for (const content of ["", "noise", "1234abcd half a hea"]) {
      const files = await logFiles(folder.path);
      const next = `${files.length + 90}`.padStart(10, "0");
      await writeFile(`${folder.path}/${next}.log`, content);
      expect(await start(folder.path)).toEqual([[1], 0]);
    }
  });
});

describe("a log on a failing disk", () => {
  test.each(["ENOSPC", "EIO"])(
    "accepts or rejects an entry, at %s of each call; a restart finds what was accepted, and of the rest only what was reported as unknown",
    async code => {
      for (let failing = 1; ; failing++) {
        await using folder = await temporaryFolder();
        const fileSystem = watchFileSystem();
        const opened = await openLog(folder.path, { fileSystem });
        await opened.append(1);
        let call = 0;
        fileSystem.before = () => {
          if (++call === failing) throw systemError(code);
        };
        const failed = await opened.append(2).then(
          () => undefined,
          (error: unknown) => error,
        );
        const isDone = call < failing;
        fileSystem.before = () => {};
        await opened.append(3);
        const taken = failed === undefined ? [1, 2, 3] : [1, 3];
        expect(opened.committed.map(([, timeout]) => timeout)).toEqual(taken);
        await opened.log.close();
        expect(await start(folder.path), `call ${failing}`).toEqual([taken, 0]);
        if (failed !== undefined) expect(failed).toBeInstanceOf(AppendError);
        if (isDone) break;
      }
    },
  );

  test("never syncs a file again after a write or a sync of it has failed", async () => {
    await using folder = await temporaryFolder();
    const fileSystem = watchFileSystem();
    const opened = await openLog(folder.path, { fileSystem });
    await opened.append(1);
    let poisoned: string | undefined;
    fileSystem.before = ({ operation, path }) => {
      if (operation !== "datasync" || poisoned !== undefined) return;
      poisoned = path;
      throw systemError("EIO");
    };
    await expect(opened.append(2)).rejects.toMatchObject({ isOutcomeUnknown: false });
    fileSystem.calls.length = 0;
    await opened.append(3);
    const synced = fileSystem.calls.filter(({ operation }) => operation === "datasync").map(({ path }) => path);
    expect(synced).not.toContain(poisoned);
    expect(synced).toHaveLength(1);
    await opened.log.close();
  });

  test("reports an unknown outcome when it cannot continue in any file, rejects later entries, and continues once it can", async () => {
    await using folder = await temporaryFolder();
    const fileSystem = watchFileSystem();
    const opened = await openLog(folder.path, { fileSystem });
    await opened.append(1);
    fileSystem.before = ({ operation }) => {
      if (operation === "datasync" || operation === "open") throw systemError("ENOSPC");
    };
    await expect(opened.append(2)).rejects.toMatchObject({ isOutcomeUnknown: true });
    await expect(opened.append(3)).rejects.toMatchObject({ isOutcomeUnknown: false });
    fileSystem.before = () => {};
    await opened.append(4);
    await opened.log.close();
    expect(await start(folder.path)).toEqual([[1, 4], 0]);
  });

  test("continues in a new file when its own was deleted", async () => {
    await using folder = await temporaryFolder();
    const opened = await openLog(folder.path);
    await opened.append(1);
    await rm(folder.path, { recursive: true });
    await opened.append(2);
    expect(opened.problems).toEqual([expect.stringContaining("deleted")]);
    await opened.log.close();
    expect(await start(folder.path)).toEqual([[2], 0]);
  });
});
