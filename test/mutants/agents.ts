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
  ...killedBy("S19", "test/promises/s19-guesses.test.ts", {
    "counting a merged list that some may not see, whether it is valid or not": {
      file: "main/store/values/counted-values.ts",
      find: " || needsReveal(known.schema, lower, value)",
      name: "finds out no guess of",
    },
    "checking no merged list against what a key may not see": {
      file: "main/daemon/config/change-check.ts",
      find: "      if (hidesAny(caller, this.#scopes, layers, edit, edit.value)) return true;\n",
    },
    "telling only readers of secrets which items of layers do not fit together": {
      file: "main/daemon/config/config-views.ts",
      find: "    if (code === 1115 && problem.layer !== undefined && !mayReveal(caller)) return [];\n",
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
    },
    "what was set since in a restore of everything, also where it is the same": {
      file: "main/daemon/config/config-changes.ts",
      find: "setSince.has(",
      replace: "new Set().has(",
    },
    "the order of the changes that a key is told, whether they stay the same or not": {
      file: "main/daemon/config/change-views.ts",
      find: "mayReveal(caller) ? change.changes",
      replace: "mayReveal(caller) || caller.name ? change.changes",
      name: "finds out no guess of",
    },
    "leaving out of what is wrong that a worktree cannot raise a value": {
      file: "main/daemon/config/config-views.ts",
      find: '  if (schema?.["x-step"] !== undefined) return undefined;\n',
      name: "finds out no guess whether what a worktree inherits",
    },
    "leaving out by how much a worktree raises a value": {
      file: "main/daemon/config/config-service.ts",
      find: "            ...(step !== undefined && { step }),\n          }),\n",
      replace: "          }),\n      ...(step !== undefined && { step }),\n",
      name: "finds out no guess whether what a worktree inherits",
    },
    "leaving out where in a file something is": {
      file: "main/daemon/config/config-views.ts",
      find: "health.flatMap(({ line: _, column: __, ...problem }) => {",
      replace: "health.flatMap(problem => {",
    },
    "rounding up the sizes of values that a key may not see": {
      file: "main/store/mirror/file-size.ts",
      find: "sum + roundedUp(size) - size",
      replace: "sum + roundedUp(size) - roundedUp(size)",
    },
  }),
  ...killedBy("S19", "test/main/daemon/limits.test.ts", {
    "room in a file for the owner": {
      file: "main/daemon/rights/guesses.ts",
      find: "if (caller.owner) return undefined;",
      replace: "if (caller.name) return undefined;",
      name: "may be 3 MiB after a set by a key",
    },
    "the size of the file in a dry run": {
      file: "main/store/state/decide-batch.ts",
      find: "decided.push({ ...decision, after: state, tried });",
      replace: "decided.push({ ...decision, after: state });",
      name: "may be 4 MiB and no more",
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
