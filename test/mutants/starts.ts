import { killedBy } from "./mutant.ts";

/** Starts that conclude from evidence that another story leaves too: R19. */
export const mutants = [
  ...killedBy("R19", "test/main/daemon/findings.test.ts", {
    "telling that the end of a history is damaged before it is cut off": {
      file: "main/store/history/journal.ts",
      find: "await this.#options.onDamage({ message, kept: aside, isIncident: true });",
      replace: "void this.#options.onDamage({ message, kept: aside, isIncident: true });",
      name: "is told before",
    },
  }),
  ...killedBy("R19", "test/main/store/absent-work-tree.test.ts", {
    "not creating a file in a work tree at a start": {
      file: "main/store/mirror/recovery.ts",
      find: `(!isKnown || isGap || files.values.status.kind === "missing")`,
      replace: "(isGap && content.config === undefined)",
      name: "gets no file at the start",
    },
    "asking whether a folder without the file is the work tree (an empty mount point is one)": {
      file: "main/git/work-tree-folder.ts",
      find: "|| !this.#isKnown(after, evidence))",
      replace: ")",
      name: "keeps its values",
    },
  }),
  ...killedBy("R19", "test/main/store/in-tree-writes.test.ts", {
    "waiting for the sync of the folder before a set in a work tree is acknowledged": {
      file: "main/store/repository/mirror-writer.ts",
      find: "inTree) await this.flushInQueue();",
      replace: "inTree) await Promise.race([this.flushInQueue(), new Promise(resolve => setTimeout(resolve, 2))]);",
      name: "the file durably before the reply",
    },
  }),
  ...killedBy("R19", "test/main/store/log/file-log.test.ts", {
    "taking the entries that histories lack over into a log with a new id": {
      file: "main/store/log/file-log.ts",
      find: "      log.#carried = entries;",
      replace: "      log.#carried = [];",
      name: "behind what a history names",
    },
    "knowing that a log was copied": {
      file: "main/store/log/recover.ts",
      find: "isCopy = content.file !== undefined && isOther(content.file, file);",
      replace: "isCopy = false;",
      name: "if its files are copies",
    },
  }),
  ...killedBy("R19", "test/promises/r19-states.test.ts", {
    "comparing the stamp of the text that a write replaced": {
      file: "main/store/mirror/mirror.ts",
      find: "return record.replacedHash === this.textHash() && sameStamp(record.replacedStamp, this.files.values.stamp);",
      replace: "return record.replacedHash === this.textHash();",
    },
    "believing that a write is complete only after it": {
      file: "main/store/mirror/mirror.ts",
      find: "    replacedHash: replaced.hash,",
      replace: "    replacedHash: now.hash,",
    },
    "taking an edit in the home field by field": {
      file: "main/store/mirror/recovery.ts",
      find: "const isTakenWhole = isNew || (isInTree && (",
      replace: "const isTakenWhole = isNew || ((",
    },
    "taking another file in a work tree as a whole": {
      file: "main/store/mirror/recovery.ts",
      find: "const isTakenWhole = isNew || (isInTree && (!isKnown || ",
      replace: "const isTakenWhole = isNew || (isInTree && (",
    },
    "making a recovery where revisions are lost": {
      file: "main/store/mirror/recovery.ts",
      find: "!isNew && (isGap || !inHistory.isWhole)",
      replace: "!isNew && !inHistory.isWhole",
    },
    "noticing that the log is behind what others name": {
      file: "main/store/log/file-log.ts",
      find: "const isBehind = known.some(",
      replace: "const isBehind = known.slice(known.length).some(",
    },
  }),
];
