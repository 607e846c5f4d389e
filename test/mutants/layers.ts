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
  }),
  ...killedBy("S21", "test/main/daemon/layers.test.ts", {
    "local values without file and index (they are forgotten)": {
      file: "main/store/layers/layers.ts",
      find: "documents.begin([...files, ...histories]",
      replace: "documents.begin([...files]",
      name: "the history still has the local values",
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
