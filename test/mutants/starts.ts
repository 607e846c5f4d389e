import { killedBy } from "./mutant.ts";

/** Starts that conclude from evidence that another story leaves too: R19. */
export const mutants = [
  ...killedBy("R19", "test/main/daemon/findings.test.ts", {
    "remembering what was dismissed (it is told again after a restart)": {
      file: "main/store/findings.ts",
      find: "message === more ? rest : [...rest, { ...found, dismissed: true }]",
      replace: "rest",
      name: "until the owner dismisses it",
    },
    "telling that the end of a history is damaged before it is cut off": {
      file: "main/store/history/journal.ts",
      find: "await this.#options.onDamage({ message, kept: aside, isIncident: true });",
      replace: "void this.#options.onDamage({ message, kept: aside, isIncident: true });",
      name: "is told before",
    },
  }),
  ...killedBy("R19", "test/main/store/history/journal.test.ts", {
    "keeping a damaged segment that is too old to be kept": {
      file: "main/store/history/journal.ts",
      find: "if (!(await isIntact(oldest.path)))",
      replace: "if (oldest.path === undefined)",
      name: "kept aside if it is damaged",
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
    "recording which folder the work tree is": {
      file: "main/store/repository/repository.ts",
      find: "treeFolder === undefined ? {} : { folder: treeFolder }",
      replace: "treeFolder === undefined ? {} : {}",
      name: "whose file was deleted",
    },
    "believing a person who names the folder again": {
      file: "main/store/repository/text-operations.ts",
      find: "else files.chooseFolder();",
      replace: "else files.openTarget();",
      name: "once a person has named the folder",
    },
    "not believing the mark of an enclosing work tree's git folder": {
      file: "main/git/work-tree-folder.ts",
      find: "(isMarked && root === resolve(path))",
      replace: "isMarked",
      name: "keeps its values",
    },
  }),
  ...killedBy("R19", "test/main/git/work-tree-folder.test.ts", {
    "checking the folder right before a file is created in it": {
      file: "main/files/json-document.ts",
      find: "    if (this.text === null && !this.#mayCreate()) throw new ForeignEditError();\n",
      name: "a set creates no file",
    },
    "comparing when a folder was created (another disk's outermost folder has the same inode)": {
      file: "main/git/work-tree-folder.ts",
      find: "|| one.created === other.created;",
      replace: "|| one.created !== 0;",
      name: "a folder without the file that is",
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
    "remembering until which entry a log is a copy": {
      file: "main/store/log/log-identity.ts",
      find: "...(copiedAt !== undefined && { copiedAt })",
      replace: "",
      name: "if its files are copies",
    },
    "remembering which entries were lost": {
      file: "main/store/log/log-identity.ts",
      find: "lost: [...origin.lost, ...lost]",
      replace: "lost: []",
      name: "reports an acknowledged line",
    },
    "deleting nothing before the entries of a log are in the next one": {
      file: "main/store/log/file-log.ts",
      find: "    if (this.#carried !== undefined) return;\n",
      name: "deletes nothing until",
    },
  }),
  ...killedBy("R19", "test/main/store/recovery.test.ts", {
    "keeping sets of several writes shortly before the end from an edit of the text before them": {
      file: "main/store/mirror/recorded-texts.ts",
      find: "if (isRecent) since = Math.min(since, record.replacedRevision);",
      replace: "if (isRecent) since += 0;",
      name: "keeps their sets",
    },
    "knowing a value that a commit gave, where the history lacks that the file got it": {
      file: "main/store/mirror/recovery.ts",
      find: " || wasWritten(path, value)",
      name: "if the end of a history is cut off",
    },
  }),
  ...killedBy("R19", "test/main/files/durable-text-file.test.ts", {
    "comparing when a file was created (a later file may get its inode)": {
      file: "main/files/temporary-files.ts",
      find: " && (!stamp.created || !created || stamp.created === created);",
      replace: ";",
      name: "a later file with the inode",
    },
  }),
  ...killedBy("R19", "test/promises/r19-states.test.ts", {
    "comparing the stamp of the text that a write replaced": {
      file: "main/store/mirror/mirror.ts",
      find: "return record.replacedHash === this.textHash() && sameStamp(record.replacedStamp, this.files.values.stamp);",
      replace: "return record.replacedHash === this.textHash();",
    },
    "recording that a write is complete": {
      file: "main/store/hand-edits/late-edits.ts",
      find: "        if (this.#cancelEnd === undefined) await mirror.recordCompletion().catch(() => {});\n",
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
    "making a recovery where records are damaged": {
      file: "main/store/mirror/recovery.ts",
      find: "!isNew && (isGap || !inHistory.isWhole)",
      replace: "!isNew && isGap",
    },
    "noticing that the log is behind what others name": {
      file: "main/store/log/file-log.ts",
      find: "const isBehind = known.some(",
      replace: "const isBehind = known.slice(known.length).some(",
    },
    "asking the histories after a stop that was not clean": {
      file: "main/store/missed-entries.ts",
      find: "if (index.stop !== undefined && index.stop === stop)",
      replace: "if (index.stop !== undefined)",
    },
    "telling a set that the file in a work tree lacks": {
      file: "main/store/mirror/recovery.ts",
      find: "isInTree && !isKnown && !isNew ? lacking.filter(isPending) : []",
      replace: "isInTree && isNew ? lacking.filter(isPending) : []",
    },
    "reading what a person wrote into a replaced file before a kill": {
      file: "main/files/durable-text-file.ts",
      find: "if (isSameInode(replacedStamp, inode)) {",
      replace: "if (isSameInode(undefined, inode)) {",
    },
  }),
];
