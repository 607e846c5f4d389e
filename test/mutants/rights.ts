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
      find: `return allows(grants, "read", repo, field.includes(".") ? field : \`\${field}.*\`) ? problem : [];`,
      replace: "return problem;",
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
      file: "main/daemon/config/config-service.ts",
      find: `if (error.code !== 1106 || error.repo === undefined || allowsEveryField(caller.grants, "read", error.repo))`,
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
      find: "viewRecord(caller, repo, record, undefined, scopes.defaults)",
      replace: `viewRecord({ ...caller, grants: [{ repos: "*", fields: ["*"], right: "read" }] }, repo, record, undefined, scopes.defaults)`,
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
      find: "return change && { ...change, actor: actorName(caller, change.actor) };",
      replace: `return change && { ...change, actor: change.actor.kind === "key" ? change.actor.name : "file" };`,
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
      find: "    if (!caller.owner) return this.#index.nearestNamed(folder, isWanted);\n",
      name: "the daemon follows links only for the owner",
    },
    "the rule that svc* covers only the scope svc": {
      file: "shared/grants.ts",
      find: "isOpenScope(pattern) ?",
      replace: "isOpenScope(pattern) && start === undefined ?",
      name: "a grant on svc*",
    },
  }),
];
