import { killedBy } from "./mutant.ts";

/** Ways for an agent to work as somebody else, unseen, or without a way back. */
export const mutants = [
  ...killedBy("S19", "test/promises/s19-mcp.test.ts", {
    "leaving masked values out of what agents get": {
      file: "main/daemon/rights/reveal.ts",
      find: "if (hides) masked.push(joinConfigPath(scope, field));\n    return !hides;",
      replace: "return true || hides;",
    },
    "the reasons of changes to masked values, to agents": {
      file: "main/daemon/config/change-views.ts",
      find: " && (isOwn || !hides);",
      replace: " && (isOwn || !hides || true);",
    },
    "proposing what an agent sets as a command": {
      file: "main/daemon/config/change-check.ts",
      find: `!caller.rights.includes("commands") && (`,
      replace: `!caller.rights.includes("commands") && path === "" && (`,
    },
    "the page where a person decides": {
      file: "main/cli/mcp/call.ts",
      find: 'if (details?.["proposal"] === undefined) return entry;',
      replace: "if (entry.code > 0) return entry;",
      name: "the page where a person decides",
    },
  }),
  ...killedBy("S6", "test/promises/s6-rights.test.ts", {
    "keeping ids of keys from other keys": {
      file: "main/daemon/config/change-views.ts",
      find: 'return caller.owner && actor.kind === "key"',
      replace: 'return actor.kind === "key"',
    },
  }),
  ...killedBy("agents", "test/main/daemon/audit-log.test.ts", {
    "the requests of an audited key in the audit file": {
      file: "main/daemon/observe/audit-log.ts",
      find: 'if (audited) this.#count({ event: "operationsAsked", key: keyId }, operation);',
      name: "each request of an audited key",
    },
    "auditing a key still after a restart": {
      file: "main/daemon/keys/keys.ts",
      find: "        ...(audited && { audited }),\n",
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
    "refusing to start with the owner's key": {
      file: "main/cli/commands/mcp.ts",
      find: "if (usesOwnerKey(options))",
      replace: "if (usesOwnerKey(options) && !options.start)",
      name: "without a key it does not start",
    },
    "undoing only the agent's own changes": {
      file: "main/cli/mcp/write-tools.ts",
      find: 'if (entry?.actor === "this key")',
      replace: "if (entry !== undefined)",
    },
    "finding the changes of a key by its id": {
      file: "main/cli/change/undo-batch.ts",
      find: "if (others.length > 0) {",
      replace: "if (others.length > 1) {",
      name: "but not by a name that two keys had",
    },
    "refusing the mask as a value": {
      file: "main/cli/mcp/write-tools.ts",
      find: "if (JSON.stringify(values).includes(mask))",
      replace: "if (mask === reason)",
      name: "the mask as a value",
    },
    "setting local values in a linked worktree": {
      file: "main/cli/mcp/write-tools.ts",
      find: '(call.repository.base === undefined ? undefined : "local")',
      replace: "(call.repository.base === null ? undefined : undefined)",
      name: "in a linked worktree",
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
    "a name of its own for the next key of an agent": {
      file: "main/cli/mcp/setup.ts",
      find: "taken.add(name);",
      name: "after changes the next key has another name",
    },
    "replacing a link in the place of the key's file": {
      file: "main/cli/mcp/setup.ts",
      find: "  await rm(path, { force: true });\n",
      name: "a link in the place of the file is replaced",
    },
  }),
  ...killedBy("agents", "test/main/cli/agent-call.test.ts", {
    "ending the connection of a call that is cancelled": {
      file: "main/cli/mcp/call.ts",
      find: 'signal.addEventListener("abort", () => client.close());',
    },
    "not beginning a call that was cancelled": {
      file: "main/cli/mcp/call.ts",
      find: "if (signal.aborted) client.close();",
    },
  }),
];
