import { killedBy } from "./mutant.ts";

/** Ways for a key to see or change more than its grants: S6. */
export const mutants = [
  ...killedBy("S6", "test/promises/s6-rights.test.ts", {
    "the grants on past revisions": {
      file: "main/daemon/config/config-service.ts",
      find: "    return readableConfig(config, repo, caller.grants);\n",
      replace: "    return config;\n",
    },
    "the grants on a repository's health": {
      file: "main/daemon/config/config-views.ts",
      find: `if (!allows(grants, "read", repo, field.includes(".") ? field : \`\${field}.*\`)) return [];`,
    },
    "the grants on each repository of a set (one is enough for all)": {
      file: "main/daemon/config/change-check.ts",
      find: `if (split === undefined || field === undefined || !allows(caller.grants, "write", repo, path))`,
      replace: "if (split === undefined || field === undefined)",
    },
    "the difference between read and write": {
      file: "shared/grants.ts",
      find: `return right === "read" || grant.right === "write";`,
      replace: "return true;",
    },
    "hiding the content of a broken file in an error": {
      file: "main/daemon/rights/reveal.ts",
      find: `if (error.code !== 1106 || error.repo === undefined || seesEverything(caller, error.repo))`,
      replace: "if (error.code)",
    },
    "hiding the names of other keys": {
      file: "main/daemon/config/change-views.ts",
      find: `return actor.id === caller.actor.id ? "this key" : "another key";`,
      replace: `return actor.id === caller.actor.id ? "this key" : actor.name;`,
    },
    "hiding revisions in which a key sees nothing, and their reasons": {
      file: "main/daemon/config/change-views.ts",
      find: "  if (!visible) return undefined;\n",
    },
    "the grant check on events": {
      file: "main/daemon/socket/connections.ts",
      find: "const change = service.viewChange(caller, id, event.change);",
      replace: `const owner: Caller = { ...caller, owner: true, grants: [{ repos: "*", fields: ["*"], right: "write" }] };\n          const change = service.viewChange(owner, id, event.change);`,
    },
  }),
  ...killedBy("S6", "test/main/daemon/search.test.ts", {
    "never matching masked values": {
      file: "shared/query/match-query.ts",
      find: "  if (isMasked(field)) return false;\n",
      name: "match no comparison",
    },
  }),
  ...killedBy("S6", "test/main/daemon/find.test.ts", {
    "resolving symbolic links for the owner only": {
      file: "main/daemon/folders/repository-finder.ts",
      find: "this.#index.nearestNamed(folder, id => isWanted(id) && isThere(id))",
      replace: "withoutLinks(folder).then(real => this.#index.nearestReal(real, id => isWanted(id) && isThere(id)))",
      name: "any other key learns only of what it may see",
    },
  }),
  ...killedBy("S6", "test/main/daemon/rights-hidden.test.ts", {
    "the rule that svc* covers only the scope svc": {
      file: "shared/grants.ts",
      find: "isOpenScope(pattern) ?",
      replace: "isOpenScope(pattern) && start === undefined ?",
      name: "a grant on svc*",
    },
  }),
  ...killedBy("S19", "test/promises/s19-rights-of-keys.test.ts", {
    "leaving masked values out of lists": {
      file: "main/daemon/rights/reveal.ts",
      find: "if (hides) masked.push(joinConfigPath(scope, field));\n    return !hides;",
      replace: "return true || hides;",
      name: "sees that a value is there",
    },
    "hiding masked values in changes": {
      file: "main/daemon/config/change-views.ts",
      find: "const hides = isHidden(caller, scopes.field(scope, field)?.schema, before, after);",
      replace: "const hides = false && isHidden(caller, undefined, before, after);",
    },
    "counting references in other fields as secrets": {
      file: "shared/scopes/hidden-values.ts",
      find: "values.some(holdsReference)",
      replace: "values.some(value => value === holdsReference)",
    },
    "the values in what health says": {
      file: "main/daemon/config/config-views.ts",
      find: "if (mayReveal(caller) || !hides) return problem;",
      replace: "if (mayReveal(caller) || !hides || hides) return problem;",
    },
    "the reasons of changes to masked values": {
      file: "main/daemon/config/change-views.ts",
      find: " && (isOwn || !hides);",
      replace: " && (isOwn || !hides || true);",
    },
    "a revision for each set that the key may not compare": {
      file: "main/daemon/config/config-changes.ts",
      find: "{ edits: accepted, recorded, plain, answer: decision }",
      replace: "{ edits: accepted, plain, answer: decision, ...(!recorded && { recorded }) }",
      name: "is not told whether a value is equal by",
    },
    "refusing edits of what the key may not see": {
      file: "main/daemon/config/change-check.ts",
      find: "    if (isHidden(caller, schema, before)) return onlyWhole(path, repo);\n",
      name: "is not told whether a value is equal by",
    },
    "hiding secrets in the values of each layer": {
      file: "main/daemon/config/config-service.ts",
      find: "shownConfig(readableConfig(stored, repo, caller.grants), caller, this.#scopes) },",
      replace: 'shownConfig(readableConfig(stored, repo, caller.grants), { rights: ["reveal"] }, this.#scopes) },',
    },
    "telling events of keys with other rights apart": {
      file: "main/daemon/socket/connections.ts",
      find: "rights.join()}",
      replace: "rights.length < 0}",
    },
    "the rights of keys that have none (they get all)": {
      file: "main/daemon/keys/keys.ts",
      find: "        rights,\n        createdAt,",
      replace: "        ...(rights.length > 0 && { rights }),\n        createdAt,",
      name: "a new one has none",
    },
  }),
  ...killedBy("S19", "test/promises/s19-commands.test.ts", {
    "proposing instead of setting commands": {
      file: "main/daemon/config/change-check.ts",
      find: `!caller.rights.includes("commands") && (`,
      replace: `!caller.rights.includes("commands") && path === "" && (`,
    },
    "the hash of what was shown": {
      file: "main/daemon/operations/proposal.ts",
      find: "        if (reviewed.hash !== hash) throw anotherProposal(proposal);\n",
    },
    "keeping proposals from other keys": {
      file: "main/daemon/operations/proposal.ts",
      find: "caller.owner || key === caller.keyId;",
      replace: "caller.owner || key !== caller.name;",
    },
    "remembering plain values of keys": {
      file: "main/store/repository/repository-changes.ts",
      find: "          await store.trust.addPlain(trustedAs, plainOf(false));\n",
    },
  }),
];
