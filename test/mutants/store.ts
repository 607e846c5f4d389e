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
  ...killedBy("store", "test/main/store/interleavings.test.ts", {
    "the last valid values of a scope that comes back": {
      file: "main/store/state/repository-context.ts",
      find: "const lastGood = Object.keys(acknowledged).length > 0 ? acknowledged : this.current.stored;",
      replace: "const lastGood = this.current.stored;",
    },
  }),
  ...killedBy("store", "test/main/store/history/unreadable.test.ts", {
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
