import { killedBy } from "./mutant.ts";

/** Ways in which a private value gets where everyone sees it, or something else counts than what was set. */
export const mutants = [
  ...killedBy("S21", "test/main/daemon/layers.test.ts", {
    "starting an edit of the shared layer from its own value (it starts from the local one)": {
      file: "main/daemon/config/change-check.ts",
      find: '?? valueIn("shared")) : undefined;',
      replace: '?? valueIn("shared")) : valueIn("local");',
      name: "never in the work tree",
    },
    "restoring each layer's own values (all go into the shared one)": {
      file: "main/daemon/config/config-changes.ts",
      find: "restored[name].set(path, value)",
      replace: "restored.shared.set(path, value)",
      name: "never in the work tree",
    },
    "a plain set of a local value (it changes the shared one)": {
      file: "main/daemon/config/change-check.ts",
      find: 'return isIn("local") || isIn("base") ? "local"',
      replace: 'return isIn("local") || isIn("base") ? "shared"',
      name: "a plain set changes it",
    },
    "counting the topmost layer's value": {
      file: "main/store/values/counted-values.ts",
      find: "      if (value !== undefined) edits.push({ ...edit, value });",
      replace:
        "      if (value !== undefined && configValue(stored, scope, field) === undefined) edits.push({ ...edit, value });",
      name: "a local value counts before the shared one",
    },
    "the changes of what counts in events (they are the layer's)": {
      file: "main/store/repository/repository-layers.ts",
      find: "const counted = { ...change, revision, changes,",
      replace: "const counted = { ...change, revision, changes: change.changes,",
      name: "speak of what counts",
    },
    "the order of the log in a history of several layers": {
      file: "main/store/history/layered-history.ts",
      find: "return here.number > there.number;",
      replace: "return here.number < there.number;",
      name: "speak of what counts",
    },
    "starting without the local values of a removed repository": {
      file: "main/store/layers/layers.ts",
      find: "      await this.moveLeft(repo);\n",
      name: "starts without it",
    },
  }),
  ...killedBy("S21", "test/main/daemon/layers.test.ts", {
    "local values without file and index (they are forgotten)": {
      file: "main/store/layers/layers.ts",
      find: "documents.begin([...files, ...histories]",
      replace: "documents.begin([...files]",
      name: "the history still has the local values",
    },
    "one change of two layers in events": {
      file: "main/store/repository/repository-layers.ts",
      find: "this.#told = change;",
      replace: "this.#told = undefined;",
      name: "name each other",
    },
    "a damaged record of one layer (the one after it is told to a watcher)": {
      file: "main/store/history/layered-history.ts",
      find: "      if (revision === after + 1) break;\n",
      name: "where a record of one layer is damaged",
    },
    "one change of two layers in what a watcher missed": {
      file: "main/store/history/layered-history.ts",
      find: "        previous = record;\n",
      name: "name each other",
    },
  }),
  ...killedBy("S21", "test/main/daemon/worktree-steps.test.ts", {
    "a plain set of a field with x-step (what was set does not count)": {
      file: "main/daemon/config/change-check.ts",
      find: 'if (isStepped(layers, split, this.#scopes)) return "local";',
      replace: "",
      name: "is taken as it is",
    },
    "the worktree's own number in its past values": {
      file: "main/store/history/repository-history.ts",
      find: "if (only !== undefined && others.length === 0 && only.slot === undefined) return { ...only, stored: only.config };",
      replace: "if (only !== undefined) return only;",
      name: "is taken as it is",
    },
    "a limit of the field above which nothing is raised": {
      file: "main/store/values/stepped-values.ts",
      find: "  return problem === undefined ? { by, raised }",
      replace: "  return problem !== null ? { by, raised }",
      name: "is taken as it is",
    },
  }),
  ...killedBy("S21", "test/e2e/local-values.test.ts", {
    "an editor that opens the layer that is named (it opens what counts)": {
      file: "main/cli/change/edited-text.ts",
      find: "const config = layer === undefined ? counted.config",
      replace: "const config = layer !== undefined ? counted.config",
      name: "edit opens and writes the layer",
    },
  }),
  ...killedBy("S21", "test/main/store/split-list.test.ts", {
    "the layer of an item that edits rename": {
      file: "main/store/values/split-list.ts",
      find: "known = value.map((item, index) => (followed ? followed[index] :",
      replace: "known = value.map((item, index) => (followed ? undefined :",
      name: "edits of a local item",
    },
  }),
];
