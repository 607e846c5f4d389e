import { killedBy } from "./mutant.ts";

/** Ways for one key, file or schema to keep the daemon from everybody else: S15 and S16. */
export const mutants = [
  ...killedBy("S15", "test/main/daemon/revision-budget.test.ts", {
    "the limit of revisions that a key makes": {
      file: "main/daemon/rights/revision-budget.ts",
      find: "if (missing > 0) return Math.ceil(missing * refillTime);",
    },
    "the limit of bytes that a key adds to a history": {
      file: "main/daemon/rights/revision-budget.ts",
      find: "bucket.bytes -= needed;",
      replace: "bucket.bytes -= 0;",
    },
  }),
  ...killedBy("S15", "test/main/daemon/key-budget.test.ts", {
    "the limit on a key's connections": {
      file: "main/daemon/socket/fairness/key-budget.ts",
      find: "account.sockets >= limits.socketsPerKey",
      replace: "account.sockets >= limits.sockets",
      name: "one key has at most 64",
    },
    "the connections reserved for the owner": {
      file: "main/daemon/socket/fairness/key-budget.ts",
      find: "limits.sockets - limits.socketsKeptForOwner",
      replace: "limits.sockets",
      name: "all keys together leave 100",
    },
    "the owner's own concurrency limit (the owner waits behind other keys)": {
      file: "main/daemon/socket/fairness/concurrency-limit.ts",
      find: `return owner ? this.#owner.acquire("") : this.#others.acquire(keyId);`,
      replace: `return owner && keyId === "" ? this.#owner.acquire("") : this.#others.acquire(keyId);`,
      name: "run two at a time for one key, four for all",
    },
  }),
  ...killedBy("S15", "test/main/daemon/starvation.test.ts", {
    "the request budget (all requests of a key run at once)": {
      file: "main/daemon/socket/dispatch.ts",
      find: "    if (caller.owner) return start();",
      replace: "    if (caller.keyId) return start();",
      name: "a set of a megabyte on many repositories",
    },
    "checking the key again after its request has waited": {
      file: "main/daemon/socket/dispatch.ts",
      find: "        authorize(caller);\n        if (",
      replace: "        if (",
      name: "a request that waited for its turn is refused",
    },
  }),
  ...killedBy("S15", "test/main/time/yielding.test.ts", {
    "the end of a time slice (long work never yields)": {
      file: "main/time/yielding.ts",
      find: "return clock.monotonic() >= end;",
      replace: "return clock.monotonic() < 0;",
    },
  }),
  ...killedBy("S16", "test/shared/schema/compile-schema.test.ts", {
    "the step budget of a value's check": {
      file: "shared/schema/step-budget.ts",
      find: "if (this.#spare.left < 0) {",
      replace: "if (Number.isNaN(this.#spare.left)) {",
      name: "ends after a bounded number of steps",
    },
  }),
  ...killedBy("S16", "test/shared/schema/linear-pattern.test.ts", {
    "the linear-time engine (patterns use JavaScript's own)": {
      file: "shared/schema/linear-pattern.ts",
      find: "return new LinearPattern(parsePattern(source));",
      replace: `return { test: (text: string) => new RegExp(source, "u").test(text) };`,
      name: "a pattern prone to backtracking",
    },
  }),
  ...killedBy("S16", "test/main/time/turns.test.ts", {
    "running parts of parallel long work one after the other": {
      file: "main/time/turns.ts",
      find: "last = last.then(() => new Promise(resolve => setImmediate(() => setImmediate(resolve))));",
      replace: "last = new Promise(resolve => setImmediate(() => setImmediate(resolve)));",
      name: "concurrent long work takes turns",
    },
  }),
];
