import type { Mutant } from "./mutant.ts";

/** What a query finds, and what it costs. */
export const mutants: readonly Mutant[] = [
  {
    promise: "queries",
    takenOut: "that a search asks for actors by the names that the key is told",
    file: "main/daemon/config-service.ts",
    find: "return change && { ...change, actor: actorName(caller, change.actor) };",
    replace: `return change && { ...change, actor: change.actor.kind === "key" ? change.actor.name : "file" };`,
    test: "test/main/daemon/search.test.ts",
    name: "are asked by the names that the key is told",
  },
  {
    promise: "queries",
    takenOut: "that masked values are compared with nothing",
    file: "shared/query/match-query.ts",
    find: "  if (isMasked(field)) return false;\n",
    replace: "",
    test: "test/main/daemon/search.test.ts",
    name: "are compared with nothing",
  },
  {
    promise: "queries",
    takenOut: "the bound of the histories that one page of a search reads",
    file: "main/daemon/operations/config.ts",
    find: "histories === historiesOfPage",
    replace: "histories < 0",
    test: "test/main/daemon/search.test.ts",
    name: "are looked for in 1,000 repositories for a page",
  },
];
