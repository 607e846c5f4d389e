import { killedBy } from "./mutant.ts";

/** Ways for a key to see or change more than its grants: S6. */
export const mutants = [
  ...killedBy("S6", "test/promises/s6-rights.test.ts", {
    "the grants on past revisions": {
      file: "main/daemon/config/config-service.ts",
      find: "    return readableConfig(config, repo, caller.grants);\n",
      replace: "    return config;\n",
    },
    "the grants on past changes that a watch sends": {
      file: "main/daemon/socket/catch-up.ts",
      find: "const seen = service.viewChange(caller, repo, change);",
      replace: `const seen = service.viewChange({ ...caller, grants: [{ repos: "*", fields: ["*"], right: "write" }] }, repo, change);`,
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
    "the grants on schemas of scopes": {
      file: "main/daemon/operations/scope.ts",
      find: `fields.filter(([field]) => allowsSomewhere(caller.grants, "read", joinConfigPath(name, field))),`,
      replace: "fields,",
    },
    "the grant check on events": {
      file: "main/daemon/socket/connections.ts",
      find: "const change = service.viewChange(caller, id, event.change);",
      replace: `const owner: Caller = { ...caller, owner: true, grants: [{ repos: "*", fields: ["*"], right: "write" }] };\n          const change = service.viewChange(owner, id, event.change);`,
    },
    "the grants on the values that a matrix counts": {
      file: "main/daemon/config/matrix.ts",
      find: "await service.list(caller, { repo }).catch(",
      replace: `await service.list({ ...caller, grants: [{ repos: "*", fields: ["*"], right: "read" }] }, { repo }).catch(`,
    },
    "the grants on changes in history/search": {
      file: "main/daemon/config/history-search.ts",
      find: "viewRecord(caller, repo, record, undefined, scopes)",
      replace: `viewRecord({ ...caller, grants: [{ repos: "*", fields: ["*"], right: "read" }] }, repo, record, undefined, scopes)`,
    },
  }),
  ...killedBy("S6", "test/main/daemon/progress.test.ts", {
    "the rights check of progress events": {
      file: "main/daemon/config/config-service.ts",
      find: `return this.canSee(caller, repo) ? ["config", "progress", { repo, revision, ...where }] : undefined;`,
      replace: `return ["config", "progress", { repo, revision, ...where }];`,
      name: "is never sent for a repository in which the key may see nothing",
    },
  }),
  ...killedBy("S6", "test/main/daemon/search.test.ts", {
    "matching by: against the names that the key may see": {
      file: "main/daemon/config/config-service.ts",
      find: "return { ...change, ...why, actor: actorName(caller, change.actor) };",
      replace: `return { ...change, ...why, actor: change.actor.kind === "key" ? change.actor.name : "file" };`,
      name: "is found by the names that the key may see",
    },
    "never matching masked values": {
      file: "shared/query/match-query.ts",
      find: "  if (isMasked(field)) return false;\n",
      name: "match no comparison",
    },
  }),
  ...killedBy("S6", "test/main/daemon/rights-hidden.test.ts", {
    "the rights check before list reads anything": {
      file: "main/daemon/config/config-service.ts",
      find: "    this.#assertVisible(caller, repo);\n    const state = this.#store.repositories.peek(repo)",
      replace: "    const state = this.#store.repositories.peek(repo)",
      name: "nothing is read",
    },
    "resolving symbolic links for the owner only": {
      file: "main/daemon/folders/repository-finder.ts",
      find: "this.#index.nearestNamed(folder, id => isWanted(id) && isThere(id))",
      replace: "withoutLinks(folder).then(real => this.#index.nearestReal(real, id => isWanted(id) && isThere(id)))",
      name: "the daemon follows links only for the owner",
    },
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
    },
    "refusing edits of what the key may not see": {
      file: "main/daemon/config/change-check.ts",
      find: "    if (isHidden(caller, schema, before)) return onlyWhole(path, repo);\n",
    },
    "not comparing masked values in a restore of all": {
      file: "main/daemon/config/config-changes.ts",
      find: `path => allows(caller.grants, "write", repo, path) && mayCompare(path),`,
      replace: `path => allows(caller.grants, "write", repo, path) && (mayCompare(path) || true),`,
    },
    "hiding what a restore brings back": {
      file: "main/daemon/config/config-changes.ts",
      find: `request.source !== "restore" && !isMerged`,
      replace: `request.source !== "set" && !isMerged`,
    },
    "hiding what a list of both layers has": {
      file: "main/daemon/config/config-changes.ts",
      find: `request.source !== "restore" && !isMerged`,
      replace: `request.source !== "restore"`,
    },
    "hiding secrets in the values of each layer": {
      file: "main/daemon/config/config-service.ts",
      find: "shownConfig(readableConfig(stored, repo, caller.grants), caller, this.#scopes) },",
      replace: 'shownConfig(readableConfig(stored, repo, caller.grants), { rights: ["reveal"] }, this.#scopes) },',
    },
    "hiding secrets in the layers that explain tells": {
      file: "main/daemon/config/config-service.ts",
      find: "{ ...layer, value: null, masked: true } : layer",
      replace: "{ ...layer, masked: true } : layer",
    },
    "hiding secrets beneath a local value": {
      file: "main/daemon/config/change-views.ts",
      find: "before, after, value, previous);",
      replace: "before, after);",
    },
    "telling of a secret that another layer has already": {
      file: "main/store/history/layered-history.ts",
      find: "[...counted, ...same]",
      replace: "[...counted, ...same.slice(same.length)]",
    },
    "telling events of keys with other rights apart": {
      file: "main/daemon/socket/connections.ts",
      find: "rights.join()}",
      replace: "rights.length < 0}",
    },
    "hiding the lengths of restored values in proposals": {
      file: "main/daemon/rights/proposals.ts",
      find: "proposal.restored ? hiddenBytes(value) : jsonBytes(value)",
      replace: "jsonBytes(value)",
    },
    "a new proposal for each restore": {
      file: "main/daemon/rights/proposals.ts",
      find: "!one.restored && isAlike(known, one)",
      replace: "isAlike(known, one)",
    },
    "hiding the reasons of changes of references in last changes": {
      file: "main/daemon/rights/reveal.ts",
      find: "(mayReveal(caller) || !hasReference) && paths",
      replace: "(mayReveal(caller) || !hasReference || true) && paths",
    },
    "counting fields beneath local values as part of a last change": {
      file: "main/store/history/kept-changes.ts",
      find: "[...change.changes, ...(change.ofLayer?.changes ?? [])]",
      replace: "[...change.changes]",
    },
    "the rights of keys that have none (they get all)": {
      file: "main/daemon/keys/keys.ts",
      find: "        rights,\n        createdAt,",
      replace: "        ...(rights.length > 0 && { rights }),\n        createdAt,",
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
    "remembering that a key set any value of a field, once there are too many": {
      file: "main/store/values/value-hashes.ts",
      find: `all.length > most && beyond === "everyValue" ? [everyValue] : all.slice(-most)`,
      replace: "all.slice(-most)",
      name: "a hundred others of the key",
    },
    "that a restore by the owner gives no trust": {
      file: "main/store/repository/repository-changes.ts",
      find: ` && !(isTrusted && source === "restore")`,
    },
    "that the rest of a value of a key stays one of the key, when somebody changes a part": {
      file: "main/daemon/rights/plain-values.ts",
      find: "changes.has(joinConfigPath(edit.scope, edit.field)) && hasPlainValue(",
      replace: "changes.has(edit.scope) && hasPlainValue(",
      name: "a part of such a value",
    },
    "the limit of a key's proposals": {
      file: "main/daemon/rights/proposals.ts",
      find: "if (problem !== undefined) return problem.inRepository(one.repo);",
      replace: "if (problem === null) return one;",
    },
  }),
  ...killedBy("S19", "test/main/daemon/revision-budget.test.ts", {
    "hiding the lengths of values in what a key may add": {
      file: "main/daemon/rights/revision-budget.ts",
      find: "if (recorded.includes(edit)) return sum + 2 * hiddenBytes(value);",
      name: "how long a value is",
    },
    "counting proposals as writes": {
      file: "main/daemon/rights/proposals.ts",
      find: " ?? take(one.repo, bytesOf(made))",
      name: "proposals count as well",
    },
  }),
];
