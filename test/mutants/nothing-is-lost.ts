import { killedBy } from "./mutant.ts";

/** Ways to lose or damage a value that was acknowledged or that a person saved: R1 to R6. */
export const mutants = [
  ...killedBy("R1", "test/promises/r17-atomic.test.ts", {
    "the sync of the log before anyone is told": {
      file: "main/store/log/file-log.ts",
      find: "      await writeAll(segment.handle, bytes, segment.bytes);\n      await segment.handle.datasync();",
      replace: "      await writeAll(segment.handle, bytes, segment.bytes);",
      name: "after a power loss at each step",
    },
  }),
  ...killedBy("R1", "test/main/store/failing-disk.test.ts", {
    "writing the log before the file": {
      file: "main/store/repository/repository-changes.ts",
      find: "      await appendPrepared(store.log, [prepared], commits, prepared.commit);",
      replace:
        "      prepared.commit(1);\n      await this.#writer.write();\n      await appendPrepared(store.log, [prepared], commits, prepared.commit);",
    },
    "keeping log entries that a history does not have yet": {
      file: "main/store/repository/mirror-schedule.ts",
      find: "({ keptFrom }) => keptFrom ?? [])",
      replace: "() => [])",
      name: "a commit that one history could not store",
    },
  }),
  ...killedBy("R1", "test/main/store/log/file-log.test.ts", {
    "ignoring log entries that a failed write left behind": {
      file: "main/store/log/recover.ts",
      find: "frame.number > limit || ",
      replace: "",
      name: "accepts or rejects an entry",
    },
  }),
  ...killedBy("R1", "test/promises/r19-states.test.ts", {
    "telling an older text of our own from a hand edit while the log has newer revisions": {
      file: "main/store/mirror/recorded-texts.ts",
      find: "    if (record.textHash === hash) return record;\n",
    },
  }),
  ...killedBy("R2", "test/promises/r2-together.test.ts", {
    "applying the fields of a set as one change": {
      file: "main/daemon/config/config-changes.ts",
      find: "      const applied = await repository.change(this.#changeRequest(caller, request, claim));\n",
      replace:
        "      for (const one of request.values)\n        await repository.change(this.#changeRequest(caller, { ...request, values: new Map([one]) }, claim));\n      const applied = await repository.change(this.#changeRequest(caller, request, claim));\n",
    },
  }),
  ...killedBy("R3", "test/promises/r3-power-loss.test.ts", {
    "the sync of the folder after the rename": {
      file: "main/files/durable-text-file.ts",
      find: "      await syncFolder(dirname(this.path), this.#fileSystem, this.#clock);\n    } catch",
      replace: "    } catch",
    },
    "the sync after appending to a journal": {
      file: "main/store/history/journal.ts",
      find: "if (isDurable) await handle.datasync();",
    },
    "writing the history before the file": {
      file: "main/store/mirror/mirror.ts",
      find: "      await this.#appendTail(false, moment, textRecord);",
      replace: "      void this.#appendTail(false, moment, textRecord);",
    },
    "the sync of the file": {
      file: "main/files/durable-text-file.ts",
      find: "        written();\n        await handle.sync();\n        const { size",
      replace: "        written();\n        const { size",
    },
  }),
  ...killedBy("R4", "test/main/files/durable-text-file.test.ts", {
    "restoring the old text if syncing the folder fails": {
      file: "main/files/durable-text-file.ts",
      find: "      await this.#putBack(text);\n",
    },
  }),
  ...killedBy("R4", "test/promises/r4-failing-disk.test.ts", {
    "continuing a short write": {
      file: "main/files/file-system.ts",
      find: "at += bytesWritten;",
      replace: "at = bytes.length;",
      name: "fewer bytes than it is given",
    },
  }),
  ...killedBy("R5", "test/promises/r5-broken-files.test.ts", {
    "the last valid values of a file that is now broken": {
      file: "main/store/hand-edits/hand-edit-reader.ts",
      find: "broken: problem }, [problem]",
      replace: "stored: undefined, broken: problem }, [problem]",
    },
    "treating a file that is not UTF-8 as broken": {
      file: "main/files/utf8-text.ts",
      find: `new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })`,
      replace: `new TextDecoder("utf-8", { fatal: false, ignoreBOM: true })`,
    },
  }),
  ...killedBy("R6", "test/main/store/stale-edits.test.ts", {
    "merging an edit that was based on a text before recent sets": {
      file: "main/store/mirror/merge-edit.ts",
      find: "const recent = this.#writes;",
      replace: "const recent: readonly RecentWrite[] = [];",
    },
  }),
  ...killedBy("R6", "test/main/store/merging.test.ts", {
    "keeping the file that a write replaced": {
      file: "main/files/file-system.ts",
      find: "    if (aside !== undefined) linkIfPossible(path, aside);\n",
      name: "between the last check and the rename",
    },
  }),
  ...killedBy("R6", "test/promises/r6-lost-updates.test.ts", {
    "the queue of each repository (a write starts while another one runs)": {
      file: "main/store/repository/repository-queue.ts",
      find: "        await this.#host.change(changes)",
      replace: "        void this.#host.change(changes)",
    },
  }),
  ...killedBy("R6", "test/promises/r6-edits-beside-a-write.test.ts", {
    "the check of the file right before the rename": {
      file: "main/files/json-document.ts",
      find: "      assertUnchanged: () => this.#assertUntouched(),\n    });\n    this.#text = text;",
      replace: "    });\n    this.#text = text;",
    },
  }),
];
