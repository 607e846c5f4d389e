import { killedBy } from "./mutant.ts";

/** Ways to break the store and the home it is kept in. */
export const mutants = [
  ...killedBy("store", "test/main/store/restart.test.ts", {
    "comparing the checksum of the index": {
      file: "main/store/state/repository-index.ts",
      find: "if (text.slice(-checksumLength) !== checksumOf(content))",
      replace: `if (text === "")`,
      name: "revisions stay the same",
    },
  }),
  ...killedBy("store", "test/main/store/apply-commit.test.ts", {
    "checking whether there are the fields that a commit changes": {
      file: "main/store/apply-commit.ts",
      find: "return isWhole && areFields ?",
      replace: "return isWhole ?",
    },
    "the difference between what a file is to have and what is valid": {
      file: "main/store/apply-commit.ts",
      find: "sharing(target, applyChanges(before.valid, record.changes))",
      replace: "sharing(target, target)",
    },
  }),
  ...killedBy("store", "test/main/store/interleavings.test.ts", {
    "the last valid values of a scope that comes back": {
      file: "main/store/state/repository-context.ts",
      find: "const lastGood = Object.keys(acknowledged).length > 0 ? acknowledged : this.current.stored;",
      replace: "const lastGood = this.current.stored;",
    },
  }),
  ...killedBy("store", "test/main/store/history/unreadable.test.ts", {
    "treating a journal whose records could not be read as not opened": {
      file: "main/store/hand-edits/hand-edit-reader.ts",
      find: "      journal.close();\n",
      name: "gets no invented revision",
    },
    "the refusal of a set if the history cannot be read": {
      file: "main/store/hand-edits/hand-edit-reader.ts",
      find: "else if (this.#context.journal.head !== undefined) this.unrecorded = undefined;",
      replace: "else this.unrecorded = undefined;",
      name: "a set is refused while",
    },
  }),
  ...killedBy("store", "test/main/store/history/journal.test.ts", {
    "refusing the changes after a revision if the next one is damaged": {
      file: "main/store/history/journal.ts",
      find: "if (record === undefined || damage !== undefined) throw damage;",
      replace: "if (record === undefined) throw damage;",
      name: "reads the changes after a revision",
    },
  }),
  ...killedBy("store", "test/main/home/start.test.ts", {
    "the disk space reserved for daemon.json": {
      file: "main/daemon/home/endpoint.ts",
      find: "    await unlink(home.reserveFile).catch(() => {});\n",
      name: "starts on a full disk",
    },
  }),
  ...killedBy("store", "test/main/store/eviction.test.ts", {
    "having one object per repository, even if an evicted one is still in use": {
      find: "return this.#open.get(id) ?? this.#evicted.get(id)?.deref();",
      replace: "return this.#open.get(id);",
      file: "main/store/repository/repositories.ts",
    },
  }),
  ...killedBy("store", "test/main/daemon/scopes.test.ts", {
    "checking all fields if the stored configuration was not fully active": {
      file: "main/store/state/decide-batch.ts",
      find: "if (before.stored === committed.target && areServed(",
      replace: "if (before.stored !== undefined && areServed(",
      name: "also after sets of other scopes",
    },
  }),
  ...killedBy("store", "test/main/store/renamed-fields.test.ts", {
    "keeping values that a new schema refuses in the file on startup if only the log knows of them": {
      file: "main/store/mirror/recovery.ts",
      find: "if (isUnedited.has(key)) {",
      replace: "if (key === null) {",
      name: "a kill after a schema change",
    },
  }),
  ...killedBy("store", "test/main/daemon/renamed-fields.test.ts", {
    "revealing a field's new name only to keys that can read it": {
      file: "main/daemon/config/config-service.ts",
      find: "return name !== undefined && isThere(readable, { scope, field: name }) ?",
      replace: "return name !== undefined ?",
      name: "is named to a client that uses the old name",
    },
  }),
  ...killedBy("store", "test/e2e/daemon-memory.test.ts", {
    "not opening repositories that nobody requests": {
      file: "main/store/store.ts",
      find: "    for (const entry of repositories.indexedInTree()) this.#handEdits.watchFolder(entry);\n",
      replace:
        "    for (const id of repositories.ids()) this.#handEdits.watchFolder(repositories.require(id).state);\n",
      name: "takes at most two kilobytes",
    },
  }),
  ...killedBy("home", "test/main/home/replaced-home.test.ts", {
    "the refusal of every write in a home that was replaced": {
      file: "main/daemon/home/held-home.ts",
      find: "      replace: async (temporary, path, assertUnchanged, aside) => {\n        this.assertHeld();",
      replace: "      replace: async (temporary, path, assertUnchanged, aside) => {",
      name: "writes nothing from that moment on",
    },
  }),
  ...killedBy("home", "test/main/home/kept-files.test.ts", {
    "ending the old owner's key before the new one is saved": {
      file: "main/daemon/keys/keys.ts",
      find: "await openOwnerKey(this.#home, this.#fileSystem, take);",
      replace: "await openOwnerKey(this.#home, this.#fileSystem);",
      name: "no new one can be written",
    },
  }),
  ...killedBy("home", "test/main/store/in-tree-writes.test.ts", {
    "creating temporary files in git's folder": {
      file: "main/store/mirror/repository-files.ts",
      find: "gitFolder ??= await gitFolderBeside(dirname(path));",
      name: "git never sees the temporary file of a set",
    },
  }),
  ...killedBy("home", "test/main/home/restore.test.ts", {
    "completing an interrupted restore on startup": {
      file: "main/daemon/home/held-home.ts",
      find: "const before = await completeRestore(home);",
      replace: "const before = undefined;",
      name: "interrupted at any of its moves",
    },
  }),
  ...killedBy("home", "test/e2e/terminal-environment.test.ts", {
    "the chosen environment of a daemon in the background": {
      file: "main/cli/connect/background.ts",
      find: "    env: daemonEnvironment(),\n",
      name: "has neither the debugger nor the secrets of the terminal",
    },
  }),
  ...killedBy("home", "test/main/home/home.test.ts", {
    "refusing a folder with other files as a home (its mode is changed, and tmp in it cleaned up)": {
      file: "main/home/prepare-home.ts",
      find: "  await assertNoOtherUse(home);\n",
      name: "is refused as a home",
    },
  }),
];
