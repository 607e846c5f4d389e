import type { Mutant } from "./mutant.ts";

const s17 = { promise: "S17", test: "test/main/daemon/trust.test.ts" };

export const mutants: readonly Mutant[] = [
  {
    ...s17,
    removed: "the value in what is trusted (one trusted value covers all values of a field)",
    file: "main/daemon/store/trusted-values.ts",
    find: "return this.#at(repo, path).includes(hashOfValue(value));",
    replace: "return this.#at(repo, path).length > 0;",
    name: "needs to be accepted once",
  },
  {
    ...s17,
    removed: "the repository in what is trusted",
    file: "main/daemon/store/trusted-values.ts",
    find: "function placeOf(repo: string, { scope, field }: ConfigPath): string {",
    replace: `function placeOf(repo: string, { scope, field }: ConfigPath): string {\n  repo = "";`,
    name: "only in its own field and repository",
  },
  {
    ...s17,
    removed: "sorting members in canonical JSON",
    file: "shared/json.ts",
    find: ".sort(([one], [other]) => (one < other ? -1 : 1))",
    replace: "",
    name: "needs to be accepted once",
  },
  {
    ...s17,
    removed: "checking trust when a repository is first read",
    file: "main/daemon/store/repository-state.ts",
    find: "!this.#isOfWorkTree || trust.hasByAnyName(",
    replace: "this.current.stored === undefined || !this.#isOfWorkTree || trust.hasByAnyName(",
    name: "waits from the start",
  },
  {
    ...s17,
    removed: "not recording a text with an untrusted value as fully active (the next start activates it)",
    file: "main/daemon/store/mirror-follower.ts",
    find: "isServed(config, this.#served.current.stored, this.#served.rules)",
    replace: "isServed(config, this.#served.current.stored, { ...this.#served.rules, isTrusted: () => true })",
    name: "its last valid value is served",
  },
  {
    ...s17,
    removed: "comparing the hash that was shown",
    file: "main/daemon/store/waiting-values.ts",
    find: "if (waiting?.hash !== hash) {",
    replace: "if (waiting === undefined) {",
    name: "is accepted by the hash that was shown",
  },
  {
    ...s17,
    removed: "not trusting values because of an undo or restore",
    file: "main/daemon/config-changes.ts",
    find: `source !== "restore" || !field.isCommand`,
    replace: `source !== "none" || !field.isCommand`,
    name: "is not trusted by undo or restore",
  },
  {
    ...s17,
    removed: "treating a set of the waiting value as a change",
    file: "main/daemon/store/decide-batch.ts",
    find: "isNeeded(config, edit) || isAwaited(before, edit)",
    replace: "isNeeded(config, edit)",
    name: "is trusted by a set of the same value",
  },
  {
    ...s17,
    removed: "distinguishing an earlier repository with the same id",
    edits: [
      {
        file: "main/daemon/store/file-intake.ts",
        find: "point.newest === 0 || this.#served.options.addedBy !== undefined;",
        replace: "point.newest === 0;",
      },
    ],
    name: "of an earlier repository with the same id",
  },
  {
    ...s17,
    removed: "keeping values active that were active before trust was required",
    file: "main/daemon/store/file-intake.ts",
    find: "if (this.#served.options.trust.removeUnread(this.#served.id) && point.newest === 0)",
    replace: "if (this.#served.options.trust.removeUnread(this.#served.id) && point.newest < 0)",
    name: "what was active before values had to be trusted",
  },
  {
    ...s17,
    removed: "the owner check of trust/accept",
    file: "main/daemon/operations/trust.ts",
    find: `"trust/accept": async ({ repo, field, hash }, { caller }) => {
      requireOwner(caller);`,
    replace: `"trust/accept": async ({ repo, field, hash }) => {`,
    name: "is for the owner only",
  },
  {
    promise: "S17",
    removed: "escaping invisible characters in a value that is shown",
    file: "main/cli/show-difference.ts",
    find: '[exactText(active).split("\\n"), exactText(value).split("\\n")]',
    replace: '[JSON.stringify(active, null, 2).split("\\n"), JSON.stringify(value, null, 2).split("\\n")]',
    test: "test/e2e/cli-trust.test.ts",
  },
];
