import { killedBy } from "./mutant.ts";

/** Ways to lose, repeat or mix up what machines share. */
export const mutants = [
  ...killedBy("shared-log", "test/main/store/shared/shared-log.test.ts", {
    "the expected sequence number of an appended message": {
      file: "main/store/shared/stream/stream-session.ts",
      find: "expect: { lastSequence: after }, ",
      name: "decide one after the other",
    },
  }),
  ...killedBy("shared-log", "test/main/store/shared/stream-log.test.ts", {
    "the refusal of a decision made before another change of the same repository": {
      file: "main/store/shared/stream/stream-outbox.ts",
      find: "    if (newest <= after) return undefined;",
      replace: "    if (newest >= 0) return undefined;",
      name: "rejects a change decided before",
    },
    "recognizing our own message by its id when it is delivered": {
      file: "main/store/shared/stream/stream-log.ts",
      find: "    if (message.id === this.#outbox.inFlight?.id) return this.#commitOwn(message);\n",
      name: "recognizes a message by its id",
    },
    "checking that the stream is the one that the home follows": {
      file: "main/store/shared/stream/stream-log.ts",
      find: "    if (status.id !== this.id)",
      replace: "    if (status.id === message)",
      name: "does not continue with a stream that lost",
    },
    "the previous message's id in each message, which detects a diverged replica": {
      file: "main/store/shared/stream/stream-log.ts",
      find: " && content.previous === this.#applied.message",
      name: "stops at a message that does not follow",
    },
    "validating the name of a scope from the stream": {
      file: "main/store/shared/stream/stream-content.ts",
      find: `  if (typeof name !== "string" || !isOwnScopeName(name)) return false;\n`,
      name: "passes over messages and entries that no daemon published",
    },
  }),
  ...killedBy("shared-log", "test/main/store/shared/shared-log-growth.test.ts", {
    "continuing from a snapshot if required messages are missing": {
      file: "main/store/shared/stream/stream-log.ts",
      find: "    if (resumesAtSnapshot) this.#skipTo(content.first);\n",
      name: "is applied by a daemon that was away",
    },
    "erasing a value from the stream": {
      file: "main/store/erasures.ts",
      find: "      ?.shorten(number)",
      replace: "      ?.shorten(0 * number - 1)",
      name: "removes a value from every message",
    },
  }),
  ...killedBy("shared-log", "test/main/git/git-remote.test.ts", {
    "the refusal of a remote that may contain a password": {
      file: "main/git/git-remote.ts",
      find: "return isRemote(remote) ? remote : undefined;",
      replace: "return remote;",
      name: "is not a remote that two machines",
    },
  }),
  ...killedBy("shared-log", "test/main/store/shared/shared-log-scopes.test.ts", {
    "checking for a local change of a scope that another machine changed": {
      file: "main/store/shared/shared-scopes.ts",
      find: "      if (found !== known) await this.#keepAside(name, file.path, found);\n",
      name: "changed on two machines",
    },
  }),
];
