import { describe, expect, test } from "vitest";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { type FileCall, systemError, watchFileSystem } from "../helpers/file-system.ts";
import { freezeHome } from "../helpers/frozen-home.ts";
import { RevisionNotes, timeoutOf } from "../helpers/revision-notes.ts";

const repositories = ["a", "b"];
const isTemporaryOf = (repo: string, { path }: FileCall) => path.endsWith(`/tmp/${repo}.json`);

const refusals: { readonly [what: string]: (call: FileCall, begun: boolean) => boolean } = {
  "every sync from the second repository on": (call, begun) =>
    call.operation === "sync" && (begun || isTemporaryOf("b", call)),
  "every rename from the second repository on": (call, begun) =>
    call.operation === "rename" && (begun || isTemporaryOf("b", call)),
  "every folder's sync from the second repository on": (call, begun) =>
    call.operation === "sync" && call.path.endsWith("/repos") && begun,
};

describe("an atomic set over two repositories", () => {
  test.each(Object.entries(refusals))(
    "when the disk refuses %s, both repositories have the new value, also after a restart, and the files follow",
    async (_name, refuses) => {
      const fileSystem = watchFileSystem();
      await using t = await startTestDaemon({ fileSystem, rescanInterval: 3_600_000 });
      const notes = new RevisionNotes();
      for (const repo of repositories) {
        await t.addRepository(repo);
        await notes.set(t, repo, 30);
        await t.readRepository(repo);
      }
      let begun = false;
      fileSystem.before = call => {
        const refused = refuses(call, begun);
        begun ||= isTemporaryOf("b", call);
        if (refused) throw systemError("ENOSPC");
      };
      const args = { repo: repositories, "svc.timeout": 5, atomic: true, flush: true };
      const { result, errors } = await t.owner.call("config/set", args);
      expect(errors).toEqual([]);
      expect(result.some(({ mirrored }) => mirrored === false)).toBe(true);
      for (const repo of repositories) {
        expect(await timeoutOf(t, repo)).toBe(5);
        await notes.note(t, repo);
      }
      const inFile = async (repo: string): Promise<unknown> =>
        JSON.parse(await t.readRepository(repo)).config.svc.timeout;
      const inFiles = () => Promise.all(repositories.map(inFile));
      fileSystem.before = () => {};
      await t.restart();
      for (const repo of repositories) {
        expect(await timeoutOf(t, repo)).toBe(5);
        await notes.note(t, repo);
      }
      await until(async () => (await inFiles()).every(timeout => timeout === 5), "the files to follow");
    },
  );

  test.each(repositories)(
    "killed before the rename of %s, with the index saved in between, never gives one revision two contents",
    async last => {
      const fileSystem = watchFileSystem();
      await using t = await startTestDaemon({ fileSystem, rescanInterval: 3_600_000 });
      const notes = new RevisionNotes();
      for (const repo of [...repositories, "c"]) {
        await t.addRepository(repo);
        await notes.note(t, repo);
      }
      // The restart saves both repositories in the index.
      await t.restart();
      for (const repo of repositories) await notes.note(t, repo);
      const reached = Promise.withResolvers<void>();
      const release = Promise.withResolvers<void>();
      fileSystem.before = async call => {
        if (call.operation !== "rename" || !isTemporaryOf(last, call)) return;
        reached.resolve();
        await release.promise;
      };
      const setting = t.owner.call("config/set", { repo: repositories, "svc.timeout": 5, atomic: true });
      await reached.promise;
      // A removal saves the index.
      const { errors } = await t.owner.call("repo/remove", { repo: "c" });
      expect(errors).toEqual([]);
      await using frozen = await freezeHome(t.homeFolder);
      release.resolve();
      await setting;

      await using after = await startTestDaemon({ home: frozen.path, rescanInterval: 3_600_000 });
      for (const repo of repositories) {
        await notes.note(after, repo);
        await notes.set(after, repo, 6, 7);
      }
      await after.restart();
      for (const repo of repositories) await notes.note(after, repo);
    },
  );
});
