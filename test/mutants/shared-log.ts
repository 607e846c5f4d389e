import type { Mutant } from "./mutant.ts";

const streamTest = "test/main/daemon/store/log/stream-log.test.ts";
const daemonsTest = "test/main/daemon/shared-log.test.ts";

/** Of a log that several machines share. */
export const mutants: readonly Mutant[] = [
  {
    promise: "shared-log",
    takenOut: "that a message names the one it is to follow",
    file: "main/daemon/store/log/stream-session.ts",
    find: "expect: { lastSequence: after }, ",
    replace: "",
    test: daemonsTest,
    name: "decide one after the other",
  },
  {
    promise: "shared-log",
    takenOut: "that what was decided before others changed the same repository is refused",
    file: "main/daemon/store/log/stream-log.ts",
    find: "    if (newest <= after) return undefined;",
    replace: "    if (newest >= 0) return undefined;",
    test: streamTest,
    name: "refuses what was decided before",
  },
  {
    promise: "shared-log",
    takenOut: "that our own message is known by its id when it comes by",
    file: "main/daemon/store/log/stream-log.ts",
    find: "    if (message.id === flight?.id) return this.#land(flight, message.sequence);\n",
    replace: "",
    test: streamTest,
    name: "goes on after its server was killed",
  },
  {
    promise: "shared-log",
    takenOut: "the look whether the stream is the one that the home follows",
    file: "main/daemon/store/log/stream-log.ts",
    find: "    if (session.id !== this.id)",
    replace: "    if (session.id === sequence)",
    test: streamTest,
    name: "does not go on with a stream that lost",
  },
  {
    promise: "shared-log",
    takenOut: "that messages have to follow each other",
    file: "main/daemon/store/log/stream-log.ts",
    find: "    if (content.first !== this.newest + 1) {",
    replace: "    if (content.first < 0) {",
    test: streamTest,
    name: "stops at a message that no daemon published",
  },
  {
    promise: "shared-log",
    takenOut: "that a decision which was overtaken is made again",
    file: "main/daemon/store/repository.ts",
    find: "        await error.taken;\n        return this.#change(batch);",
    replace: "        await error.taken;",
    test: daemonsTest,
    name: "decide one after the other",
  },
  {
    promise: "shared-log",
    takenOut: "that a repository is known before its file is there",
    file: "main/daemon/store/file-store.ts",
    find: "    this.#unmirrored.set(id, [committed]);\n    this.#repositories.add(id);\n",
    replace: "",
    test: daemonsTest,
  },
];
