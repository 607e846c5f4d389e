import { killedBy } from "./mutant.ts";

/** Ways to run what nobody has accepted: S17. */
export const mutants = [
  ...killedBy("S17", "test/e2e/cli-trust.test.ts", {
    "waiting for a person to accept scopes (adding a repository accepts them)": {
      file: "main/cli/commands/repo.ts",
      find: "  if (names.length > 0)\n    print(",
      replace: `  for (const one of path === undefined ? [] : await readOfferedScopes(path, home))\n    await (await import("node:fs/promises")).writeFile(one.homeFile, one.text);\n  if (names.length > 0)\n    print(`,
      name: "the daemon uses no scope before a person accepts it",
    },
    "the values that a scope would run from the hash by which it is accepted": {
      file: "main/cli/scopes/trust-scopes.ts",
      find: "effects: effects.map(({ effect, ...rest }) => ({ ...rest, ...effect })),",
      name: "is accepted by a hash of the schema and these values",
    },
  }),
  ...killedBy("S17", "test/main/daemon/trust.test.ts", {
    "the rule that an environment variable needs trust like a command": {
      file: "shared/scopes/scope-schema.ts",
      find: ` || schema["x-env"] !== undefined`,
      name: "also waits if it becomes an environment variable",
    },
    "the value in what is trusted (one trusted value covers all values of a field)": {
      file: "main/store/values/value-hashes.ts",
      find: "return known.includes(hash) || known.includes(everyValue);",
      replace: `return this.#at(repo, path).length > 0 && hash !== "";`,
      name: "needs to be accepted once",
    },
    "the repository in what is trusted": {
      file: "main/store/values/value-hashes.ts",
      find: "function placeOf(repo: string, { scope, field }: ConfigPath): string {",
      replace: `function placeOf(repo: string, { scope, field }: ConfigPath): string {\n  repo = "";`,
      name: "only in its own field and repository",
    },
    "checking trust when a repository is first read": {
      file: "main/store/state/repository-context.ts",
      find: "this.#isOfWorkTree ? trust.has(",
      replace: "this.current.stored === undefined ? true : this.#isOfWorkTree ? trust.has(",
      name: "waits from the start",
    },
    "not recording a text with an untrusted value as fully active (the next start activates it)": {
      file: "main/store/repository/mirror-writer.ts",
      find: "sameConfig(config, this.#context.current.stored ?? {})",
      replace: "true",
      name: "its last valid value is served",
    },
    "comparing the hash that was shown": {
      file: "main/store/repository/waiting-values.ts",
      find: "if (waiting?.hash !== hash) {",
      replace: "if (waiting === undefined) {",
      name: "is accepted by the hash that was shown",
    },
    "not trusting values because of an undo or restore": {
      file: "main/daemon/config/change-check.ts",
      find: `source !== "restore" || !field.isCommand`,
      replace: `source !== "none" || !field.isCommand`,
      name: "is not trusted by undo or restore",
    },
    "the owner check of trust/accept": {
      file: "main/daemon/operations/trust.ts",
      find: `"trust/accept": async ({ repo, field, hash }, { caller }) => {\n      requireOwner(caller);`,
      replace: `"trust/accept": async ({ repo, field, hash }) => {`,
      name: "is for the owner only",
    },
  }),
  ...killedBy("S17", "test/main/daemon/trust-by-effect.test.ts", {
    "requiring trust for a value that was active before a schema made a command or variable of it": {
      file: "main/store/values/interpret.ts",
      find: "const lastGood = active && trustedByNewRules(active, rules);",
      replace: "const lastGood = active && withNewNames(active, scopes).config;",
      name: "although it was active as a text",
    },
    "the field's effect in what is trusted (trust in a value as one variable covers it as another)": {
      file: "main/store/values/trusted-values.ts",
      find: "const { command, variable = null } = effectOf(scopes.field(scope, field)?.schema ?? {});",
      replace: "const { command, variable = null } = effectOf(scopes.field(scope, field) === undefined ? {} : {});",
      name: "with the old schema back, it counts again",
    },
  }),
];
