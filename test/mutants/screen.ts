import { killedBy } from "./mutant.ts";

/** Ways for the screen to lose, disclose or mix up edits. */
export const mutants = [
  ...killedBy("screen", "test/screen/typed-texts.test.ts", {
    "refusing to save a text that is not a value": {
      file: "renderer/state/saving.ts",
      find: "if (unread.length > 0) return",
      replace: "if (unread.length < 0) return",
      name: "with a name twice in one object is refused",
    },
  }),
  ...killedBy("screen", "test/screen/masked-controls.test.ts", {
    "keeping a masked text out of the page": {
      file: "renderer/fields/text-editor.tsx",
      find: "const isHidden = isCovered && typed !== stored;",
      replace: "const isHidden = isCovered && typed === undefined && stored.length === 0;",
      name: "are in no control and nowhere else in the page",
    },
    "the mask of a part that only its reference has": {
      file: "renderer/fields/resolved-schema.ts",
      find: "return maskedWithin(outer, resolvedIn(root, schemaOf(inner)), name);",
      replace: "return resolvedIn(root, schemaOf(inner));",
      name: "are in no control and nowhere else in the page",
    },
  }),
  ...killedBy("screen", "test/screen/tasks.test.ts", {
    "renaming an entry where another field names it": {
      file: "renderer/state/edits.ts",
      find: "=== from ? [field] : [];",
      replace: "=== from ? [] : [];",
      name: "rename a service that the default service names",
    },
    "the variables that a pasted text does not name": {
      file: "renderer/fields/paste-variables.tsx",
      find: "return text === undefined ? [item] :",
      replace: "return text === undefined ? [] :",
      name: "paste ten environment variables",
    },
    "taking back all that one action began": {
      file: "renderer/state/edits.ts",
      find: "one === last || (last.begun",
      replace: "one === last && (last.begun",
      name: "change 500 repositories",
    },
  }),
  ...killedBy("screen", "test/screen/matrix.test.ts", {
    "saving several repositories as one batch": {
      file: "renderer/state/saving.ts",
      find: "{ batch, ...(reason",
      replace: "{ batch: newBatch(), ...(reason",
      name: "turns proxy_https on",
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
    "the owner check of draft/list": {
      file: "main/daemon/operations/draft.ts",
      find: `"draft/list": (_args, { caller }) => {\n      requireOwner(caller);`,
      replace: `"draft/list": () => {`,
      name: "are only for the owner and the owner's sessions",
    },
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
    "the limits on drafts": {
      file: "main/daemon/config/drafts.ts",
      find: "      if (changed.length > 0) assertFits(next);\n",
      name: "limit the number and size of drafts",
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
    "merging what two tabs edit in one field": {
      file: "renderer/state/drafts.ts",
      find: "    const merged = mergeDrafts(was, theirs, mine, scopes);\n",
      replace: "    const merged = mergeDrafts(was, theirs, mine, scopes) && mine;\n",
      name: "of one field in two tabs at once become one",
    },
  }),
];
