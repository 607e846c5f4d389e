import type { Mutant } from "./mutant.ts";

const queue = {
  removed: "the queue of each repository (a write starts while another one runs)",
  file: "main/store/repository/repository-queue.ts",
  find: "          await this.#host.change(changes);",
  replace: "          void this.#host.change(changes);",
};

export const mutants: readonly Mutant[] = [
  {
    promise: "R3",
    removed: "the sync of the file",
    file: "main/files/durable-text-file.ts",
    find: `        written();
        await handle.sync();
        const { size`,
    replace: `        written();
        const { size`,
    test: "test/promises/r3-power-loss.test.ts",
  },
  {
    promise: "R6",
    ...queue,
    test: "test/promises/r6-lost-updates.test.ts",
  },
  {
    promise: "R6",
    removed: "the check of the file right before the rename",
    file: "main/files/json-document.ts",
    find: "      assertUnchanged: () => this.#assertUntouched(),\n    });\n    this.#text = text;",
    replace: "    });\n    this.#text = text;",
    test: "test/promises/r6-edits-beside-a-write.test.ts",
  },
  {
    promise: "R12",
    ...queue,
    test: "test/promises/r12-own-writes.test.ts",
  },
  {
    promise: "R12",
    removed: "both comparisons that tell our own writes from hand edits, of the text and of the values (one is enough)",
    edits: [
      {
        file: "main/files/json-document.ts",
        find: "    if (this.#isRead && text === this.#text) return undefined;\n",
        replace: "",
      },
      {
        file: "main/store/hand-edits/file-intake.ts",
        find: "if (changes.length > 0 || begins) {",
        replace: "if (changes.length > -1) {",
      },
    ],
    test: "test/promises/r12-own-writes.test.ts",
  },
  {
    promise: "S3",
    removed: "the origin check",
    file: "main/daemon/http/guard.ts",
    find: "originHeaders.find(origin => !ownOrigins.includes(origin) && !allowedOrigins().includes(origin))",
    replace: "originHeaders.find(() => false)",
    test: "test/promises/s3-foreign-pages.test.ts",
  },
  {
    promise: "S6",
    removed: "the grant check on events",
    file: "main/daemon/socket/connections.ts",
    find: "const change = service.viewChange(caller, id, event.change);",
    replace:
      'const owner: Caller = { ...caller, owner: true, grants: [{ repos: "*", fields: ["*"], right: "write" }] };\n          const change = service.viewChange(owner, id, event.change);',
    test: "test/promises/s6-rights.test.ts",
  },
];
