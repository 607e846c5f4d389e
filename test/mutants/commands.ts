import { killedBy } from "./mutant.ts";

/** Ways for a command to change or print something else than was asked. */
export const mutants = [
  ...killedBy("commands", "test/e2e/edit.test.ts", {
    "the confirmation before edit replaces someone else's change": {
      file: "main/cli/change/edited-text.ts",
      find: "const how = { flush: true, revision, ",
      replace: "const how = { flush: true, revision: revision < 0 ? 0 : null, ",
      name: "never overwrites a change made in the meantime",
    },
  }),
  ...killedBy("commands", "test/e2e/value-places.test.ts", {
    "limiting set --where to what the query finds": {
      file: "main/cli/change/change-values.ts",
      find: ".filter(({ id }) => found.has(id));",
      replace: ";",
      name: "can be named or found by a query",
    },
  }),
  ...killedBy("commands", "test/e2e/cli-batches.test.ts", {
    "asking before several repositories are changed": {
      find: "if (preview.count > 1)",
      replace: "if (preview.count > 1_000)",
      name: "without a terminal shows what would change, masked, and is refused without --yes",
      file: "main/cli/change/change-values.ts",
    },
  }),
  ...killedBy("commands", "test/main/daemon/batches.test.ts", {
    "leaving fields that were changed since out of the undo of a batch": {
      file: "main/daemon/config/undo/plan-undo.ts",
      find: "if (isThere && !change.forgotten)",
      replace: "if (!change.forgotten)",
      name: "is undone where its values are unchanged",
    },
  }),
  ...killedBy("commands", "test/main/daemon/undo-in-trees.test.ts", {
    "leaving what was set on another branch out of an undo": {
      file: "main/daemon/config/undo/plan-undo.ts",
      find: "(head !== undefined && head === this.#wanted.head)",
      replace: "head !== undefined",
      name: "branch is checked out",
    },
  }),
  ...killedBy("disclosure", "test/e2e/hostile-text.test.ts", {
    "the one function that every printed line passes through": {
      file: "main/cli/output/terminal.ts",
      find: "const shown = visible(text);",
      replace: "const shown = text;",
      name: "folders that a scan found, before it asks",
    },
  }),
  ...killedBy("offline", "test/e2e/check.test.ts", {
    "the refusal of a command that nobody has trusted": {
      file: "main/check/read-values.ts",
      find: "isTrusted: () => trustsCommands",
      replace: "isTrusted: () => true",
      name: "unless the work tree's commands are trusted",
    },
  }),
  ...killedBy("exec", "test/e2e/watch-exec.test.ts", {
    "remembering a change only when the command has handled it": {
      file: "main/cli/watch/exec-on-changes.ts",
      find: "      if (code === 0) {",
      replace: "      await save(last);\n      if (code === 0) {",
      name: "only then the state goes on",
    },
  }),
  ...killedBy("env files", "test/main/cli/import-formats.test.ts", {
    "the refusal of a line that is not understood (it is skipped)": {
      file: "shared/import/read-dotenv.ts",
      find: "    if (match === null) {",
      replace: `    if (match === null) {\n      dotenvLine.lastIndex = text.indexOf("\\n", at) + 1 || text.length;\n      continue;`,
      name: "is named, and nothing is imported",
    },
  }),
  ...killedBy("shipping", "test/packing/build.test.ts", {
    "building beside dist/": {
      file: "scripts/build.ts",
      find: "await make(made);",
      replace: "await make(dist);",
      name: "leaves all of the build before",
    },
  }),
];
