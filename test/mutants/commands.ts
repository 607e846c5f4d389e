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
    "applying --add to the current value (it replaces the list)": {
      file: "shared/typed-changes.ts",
      find: "else edits.push({ ...place, op, value });",
      replace: `else if (op === "add") values[place.field] = [value];\n      else edits.push({ ...place, op, value });`,
      name: "can be set, added to, removed from, read and unset",
    },
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
    "changing only the revisions that the question showed": {
      find: "    ({ revisions } = preview);\n",
      name: "overwrites nothing that was changed while the question was open",
      file: "main/cli/change/change-values.ts",
    },
  }),
  ...killedBy("commands", "test/main/daemon/history-search.test.ts", {
    "leaving out changes that are made while history/search is paged through": {
      file: "main/store/history/merged-history.ts",
      find: "while (comparePlaces(source.next, after) <= 0)",
      replace: "while (comparePlaces(source.next, after) === 0)",
      name: "neither repeats entries nor inserts newer ones",
    },
  }),
  ...killedBy("commands", "test/main/daemon/batches.test.ts", {
    "leaving fields that were changed since out of the undo of a batch": {
      file: "main/daemon/config/undo/plan-undo.ts",
      find: "if (isThere && !change.forgotten)",
      replace: "if (!change.forgotten)",
      name: "is undone where its values are unchanged",
    },
    "deciding an undo again if somebody changed the repository in between": {
      file: "main/daemon/config/undo/undo-revisions.ts",
      find: "if (!isOutdated || isAsked || tries === maxTries)",
      replace: "if (!isOutdated || isAsked || tries > 0)",
      name: "decided again if somebody changes it in between",
    },
  }),
  ...killedBy("commands", "test/main/daemon/undo-in-trees.test.ts", {
    "leaving what was set on another branch out of an undo": {
      file: "main/daemon/config/undo/plan-undo.ts",
      find: "(head !== undefined && head === this.#wanted.head)",
      replace: "head !== undefined",
      name: "branch is checked out",
    },
    "recording with a set what was checked out": {
      file: "main/store/apply-commit.ts",
      find: "...(head && { head })",
      replace: "...(head === lineage && { head })",
      name: "another field was edited, and the daemon started again",
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
  ...killedBy("disclosure", "test/e2e/masked-values.test.ts", {
    "the masking of values without a schema, on the command line": {
      file: "main/cli/connect/fields.ts",
      find: "return schema === undefined || masksAnything(schema);",
      replace: "return schema !== undefined && masksAnything(schema);",
      name: "a masked value stays masked when its schema is",
    },
  }),
  ...killedBy("offline", "test/e2e/check.test.ts", {
    "checking without writing (a check creates a folder)": {
      file: "main/check/check-file.ts",
      find: "  const own = await problemsOfFile(file, scopes);",
      replace: `  const own = await problemsOfFile(file, scopes);\n  await (await import("node:fs/promises")).mkdir(file.path + ".lock");`,
      name: "no home, no daemon, no write",
    },
    "the refusal of a command that nobody has trusted": {
      file: "main/check/read-values.ts",
      find: "isTrusted: () => trustsCommands",
      replace: "isTrusted: () => true",
      name: "unless the work tree's commands are trusted",
    },
    "the refusal of a symbolic link as the folder of schemas": {
      file: "main/check/work-tree-scopes.ts",
      find: "() => lstat(one)",
      replace: `async () => (await import("node:fs/promises")).stat(one)`,
      name: "follows no symbolic link, neither the file",
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
