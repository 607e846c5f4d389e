import { killedBy } from "./mutant.ts";

/** Ways for an agent to work as somebody else, unseen, or without a way back. */
export const mutants = [
  ...killedBy("S19", "test/promises/s19-guesses.test.ts", {
    "counting a merged list that some may not see, whether it is valid or not": {
      file: "main/store/values/counted-values.ts",
      find: " || needsReveal(known.schema, lower, value)",
      name: "finds out no guess of",
    },
    "refusing changes of fields that a rule ties to what a key may not see": {
      file: "main/daemon/rights/tied-fields.ts",
      find: "if (hidden === undefined) return undefined;",
      replace: "if (hidden?.field !== repo) return undefined;",
    },
    "what a person takes back in a revision, also where it is the same": {
      file: "main/daemon/config/change-check.ts",
      find: `source === "restore" ? needsReveal(schema, ...values) : isHidden(`,
      replace: "isHidden(",
      name: "finds out no guess of",
    },
    "rounding up the sizes of values that a key may not see": {
      file: "main/store/mirror/file-size.ts",
      find: "sum + roundedUp(size) - size",
      replace: "sum + roundedUp(size) - roundedUp(size)",
      name: "finds out no guess of",
    },
  }),
  ...killedBy("agents", "test/main/daemon/audit-log.test.ts", {
    "the requests of an audited key in the audit file": {
      file: "main/daemon/observe/audit-log.ts",
      find: 'if (audited) this.#count({ event: "operationsAsked", key: keyId }, operation);',
      name: "each request of an audited key",
    },
  }),
  ...killedBy("agents", "test/e2e/agents.test.ts", {
    "refusing keys that were not made for an agent": {
      file: "main/cli/mcp/call.ts",
      find: "if (audited) return;",
      replace: "if (audited || name) return;",
      name: "a key that has expired or was revoked",
    },
    "undoing only the agent's own changes": {
      file: "main/cli/mcp/write-tools.ts",
      find: 'if (entry?.actor === "this key")',
      replace: "if (entry !== undefined)",
      name: "an undo of somebody else's change",
    },
    "refusing the mask as a value": {
      file: "main/cli/mcp/write-tools.ts",
      find: "if (JSON.stringify(values).includes(mask))",
      replace: "if (mask === reason)",
      name: "the mask as a value",
    },
    "refusing an agent in a work tree or folder that its key is not for": {
      file: "main/cli/mcp/call.ts",
      find: "if (place !== undefined)",
      replace: `if (place === "")`,
      name: "is found in its folders, and outside of all",
    },
    "refusing a key file that others may read": {
      file: "main/cli/mcp/call.ts",
      find: "(stats.mode & 0o077) === 0",
      replace: "stats.mode > 0",
      name: "a key file that others may read",
    },
  }),
];
