import { killedBy } from "./mutant.ts";

/** Ways for the screen to lose, disclose or mix up edits. */
export const mutants = [
  ...killedBy("screen", "test/screen/masked-controls.test.ts", {
    "keeping a masked text out of the page": {
      file: "renderer/fields/text-editor.tsx",
      find: "const isHidden = isCovered && typed !== stored;",
      replace: "const isHidden = isCovered && typed === undefined && stored.length === 0;",
      name: "are in no control and nowhere else in the page",
    },
  }),
  ...killedBy("screen", "test/screen/diff.test.ts", {
    "merging an edit with another change while it is being saved (the edit was lost)": {
      file: "renderer/state/saving.ts",
      find: "pending.get(editKey(one.repo, one.scope, one.field)) ?? one",
      replace: "one",
      name: "is merged even while the edit is being saved",
    },
  }),
  ...killedBy("screen", "test/shared/merge-values.test.ts", {
    "asking which value to keep when two people changed the same thing": {
      file: "shared/merge-values.ts",
      find: "mergeLists(base, theirs, mine);\n  return undefined;",
      replace: "mergeLists(base, theirs, mine);\n  return { value: mine };",
    },
  }),
  ...killedBy("screen", "test/screen/keys.test.ts", {
    "the repositories that a new key is limited to (it gets all)": {
      file: "renderer/keys/new-key-page.tsx",
      find: `repos: chosen === "*" ? "*" : covered.map(({ id }) => id)`,
      replace: `repos: "*"`,
      name: "a key to read svc.services",
    },
    "removing a key's text when its page is left": {
      file: "renderer/keys/made-key.tsx",
      find: `  const [said, setSaid] = useState("");`,
      replace: `  const [said, setSaid] = useState("");\n  document.body.title = key;`,
      name: "a key's text is shown only once",
    },
  }),
  ...killedBy("screen", "test/screen/activity.test.ts", {
    "the dry run in the preview of undoing a batch": {
      file: "shared/client/undo-batch.ts",
      find: "dryRun: true",
      replace: "dryRun: false",
      name: "a batch is one entry and is reverted as a whole",
    },
  }),
  ...killedBy("drafts", "test/main/daemon/drafts.test.ts", {
    "keeping drafts of masked values off the disk": {
      file: "main/daemon/config/drafts.ts",
      find: "isMasked ? [] : [draft]",
      replace: "isMasked && [].length > 0 ? [] : [draft]",
      name: "is never written to disk",
    },
    "writing drafts to the disk before the reply": {
      file: "main/daemon/config/drafts.ts",
      find: "      await this.#write(next);\n",
      name: "is accessible only to its owner and restores the drafts",
    },
  }),
  ...killedBy("drafts", "test/screen/drafts.test.ts", {
    "sending the last edits before the page is hidden or closed": {
      edits: [
        {
          file: "renderer/state/drafts.ts",
          find: `  document.addEventListener("visibilitychange", sendNow);\n  window.addEventListener("pagehide", sendLast);\n`,
          replace: "",
        },
        {
          file: "renderer/state/drafts.ts",
          find: "    sendLast();\n    event.preventDefault();\n",
          replace: "",
        },
      ],
      name: "are sent before the page unloads",
    },
  }),
];
