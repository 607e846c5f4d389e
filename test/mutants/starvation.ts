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
    "the limit on waiting requests": {
      file: "main/daemon/socket/fairness/key-budget.ts",
      find: "if (!isFree && account.waiting.length >= limits.waitingRequestsPerKey)",
      replace: "if (!isFree && account.waiting.length >= 100 * limits.waitingRequestsPerKey)",
      name: "beyond 1,000 waiting ones",
    },
    "the limit on bytes queued for all clients of a key": {
      file: "main/daemon/socket/fairness/key-budget.ts",
      find: "> limits.waitingBytesPerKey &&",
      replace: "> 100 * limits.waitingBytesPerKey &&",
      name: "beyond 64 MiB of unread data",
    },
    "letting the owner bypass other keys' queues": {
      file: "main/daemon/socket/fairness/key-budget.ts",
      find: "if (owner) return undefined;",
      replace: "if (owner && keyId === undefined) return undefined;",
      name: "beyond 1,000 waiting ones",
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
    "the concurrency limit of operations that read histories": {
      file: "main/daemon/socket/dispatch.ts",
      find: "(readsMuch(name, args) ? waitForTurn() : goOn())",
      replace: "(bytes < 0 ? waitForTurn() : goOn())",
      name: "runs at most twice at once for a key",
    },
    "checking the key again after its request has waited": {
      file: "main/daemon/socket/dispatch.ts",
      find: "        authorize(caller);\n        if (",
      replace: "        if (",
      name: "a request that waited for its turn is refused",
    },
    "the size limit of a page": {
      file: "main/daemon/config/pages.ts",
      find: " || this.#bytes >= limits.pageBytes",
      name: "a page of the history ends early",
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
    "the hash map that finds repeated items (every pair is compared)": {
      file: "shared/schema/array-keywords.ts",
      find: "walk.budget.take(1 + partsOf(value));",
      replace: "walk.budget.take(1 + i);",
      name: "not to their pairs",
    },
  }),
  ...killedBy("S16", "test/shared/schema/linear-pattern.test.ts", {
    "the linear-time engine (patterns use JavaScript's own)": {
      file: "shared/schema/linear-pattern.ts",
      find: "return new LinearPattern(parsePattern(source));",
      replace: `return { test: (text: string) => new RegExp(source, "u").test(text) };`,
      name: "a pattern prone to backtracking",
    },
    "multiplying the size of a repeated part by its count": {
      file: "shared/schema/parse-pattern.ts",
      find: "assertFits((most ?? Math.max(least, 1)) * (part.size + 1))",
      replace: "part.size + 1",
      name: "is rejected before it is compiled",
    },
  }),
  ...killedBy("S16", "test/promises/s16-hostile-files.test.ts", {
    "the limit on reported problems": {
      file: "shared/limits.ts",
      find: "problemsOfFile: 100,",
      replace: "problemsOfFile: 1_000_000,",
      name: "at most 100 problems are reported",
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
  ...killedBy("S16", "test/main/store/decide-batch.test.ts", {
    "yielding while expensive values are checked": {
      file: "main/store/values/interpret.ts",
      find: "return steps >= stepsAtOnce;",
      replace: "return steps < 0;",
      name: "take long to check",
    },
  }),
];
