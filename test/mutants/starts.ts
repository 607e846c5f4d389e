import type { Mutant } from "./mutant.ts";

const sequencesOfGit = { promise: "R19", test: "test/promises/r19-starts.test.ts" } as const;
const absentTree = { promise: "R19", test: "test/main/daemon/store/absent-work-tree.test.ts" } as const;
const olderTexts = { promise: "R19", test: "test/main/daemon/store/older-texts.test.ts" } as const;

/** Starts that conclude from evidence that another story leaves too. */
export const mutants: readonly Mutant[] = [
  {
    ...sequencesOfGit,
    removed: "comparing the stamp of the text that a write replaced",
    file: "main/daemon/store/mirror.ts",
    find: "return record.over === this.textHash() && sameStamp(record.replaces, this.files.values.stamp);",
    replace: "return record.over === this.textHash();",
  },
  {
    ...absentTree,
    removed: "not creating a file in a work tree at a start",
    file: "main/daemon/store/recovery.ts",
    find: '(!isKnown || files.values.status.kind === "missing")',
    replace: "(!isKnown && content.config === undefined)",
    name: "gets no file at the start",
  },
  {
    ...absentTree,
    removed: "asking whether a folder without the file is the work tree (an empty mount point is one)",
    file: "main/daemon/store/work-tree-folder.ts",
    find: "if (!isSame || !(await this.#isKnown(after)))",
    replace: "if (!isSame)",
    name: "keeps its values",
  },
  {
    promise: "R19",
    removed: "checking the folder before its file is read too",
    file: "main/daemon/store/work-tree-folder.ts",
    find: "const isSame = before?.device === after.device && before.inode === after.inode;",
    replace: "const isSame = before !== after;",
    test: "test/main/daemon/store/work-tree-folder.test.ts",
    name: "a folder without the file that is",
  },
  {
    promise: "R19",
    removed: "checking the folder right before a file is created in it",
    file: "main/files/json-document.ts",
    find: "    if (this.text === null && !this.#mayCreate()) throw new ForeignEditError();\n",
    replace: "",
    test: "test/main/daemon/store/work-tree-folder.test.ts",
    name: "a set creates no file",
  },
  {
    ...absentTree,
    removed: "recording which folder the work tree is",
    file: "main/daemon/store/repository.ts",
    find: "treeFolder === undefined ? {} : { folder: treeFolder }",
    replace: "treeFolder === undefined ? {} : {}",
    name: "whose file was deleted",
  },
  {
    ...absentTree,
    removed: "believing a person who names the folder again",
    file: "main/daemon/store/text-operations.ts",
    find: "else this.#served.files.chooseFolder();",
    replace: "else this.#served.files.follow();",
    name: "once a person has named the folder",
  },
  {
    ...olderTexts,
    removed: "knowing from the index that the last write was complete",
    file: "main/daemon/store/recovery.ts",
    find: "const isComplete = isIndexed || ",
    replace: "const isComplete = ",
    name: "put back after a clean stop",
  },
  {
    ...olderTexts,
    removed: "looking for earlier texts in restored backups only",
    file: "main/daemon/store/recovery.ts",
    find: "const mayBeOlder = options.isCopy && ",
    replace: "const mayBeOlder = ",
    name: "somebody put back after a kill",
  },
  {
    ...olderTexts,
    removed: "looking for earlier texts in a restored backup",
    file: "main/daemon/store/recovery.ts",
    find: "const mayBeOlder = options.isCopy && ",
    replace: "const mayBeOlder = !options.isCopy && ",
    name: "that the backup has",
  },
  {
    promise: "R19",
    removed: "waiting for the sync of the folder before a set in a work tree is acknowledged",
    file: "main/daemon/store/mirror-follower.ts",
    find: "while ((await this.follow()) === beingChanged",
    replace:
      "while ((await Promise.race([this.follow(), new Promise(resolve => setTimeout(resolve, 2))])) === beingChanged",
    test: "test/main/daemon/store/in-tree-order.test.ts",
    name: "the file durably before the reply",
  },
];
