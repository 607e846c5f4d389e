import { killedBy } from "./mutant.ts";

/** Ways to decide, tell or write a change wrongly: R7 to R17. */
export const mutants = [
  ...killedBy("R7", "test/promises/r7-r8-r9-recorded-history.test.ts", {
    "comparing a set's revision with the result of the previous set in the batch": {
      file: "main/daemon/config/change-check.ts",
      find: "wanted !== undefined && wanted !== state.revision)",
      replace: "wanted !== undefined && wanted !== this.#store.repositories.brief(state.id)?.revision)",
      name: "R7 compare-and-set",
    },
  }),
  ...killedBy("R7", "test/main/daemon/set-edits.test.ts", {
    "applying a value edit to the value at the time it runs": {
      file: "main/daemon/config/change-check.ts",
      find: "const outcome = applyValueEdits(before, edits, schema);",
      replace: "const outcome = applyValueEdits(schema?.default, edits, schema);",
      name: "concurrent edits all count",
    },
  }),
  ...killedBy("R8", "test/promises/r7-r8-r9-recorded-history.test.ts", {
    "list showing a set at once (its view is up to 20 ms old)": {
      file: "main/daemon/config/config-views.ts",
      find: "    const { effective, readable } = this.#viewsOf(state);\n",
      replace:
        "    this.held ??= new Map();\n    const held = this.held.get(state.id);\n    const isFresh = held !== undefined && performance.now() - held.at < 20;\n    if (!isFresh) this.held.set(state.id, { at: performance.now(), views: this.#viewsOf(state) });\n    const { effective, readable } = isFresh ? held.views : this.#viewsOf(state);\n",
      name: "R8 reads are linearizable",
    },
  }),
  ...killedBy("R9", "test/promises/r7-r8-r9-recorded-history.test.ts", {
    "the last check for changes made while past changes were sent": {
      file: "main/daemon/socket/catch-up.ts",
      find: "    if (complete) run.at = Math.max(run.at, newest);\n",
      replace: "    if (complete) return connection.goLive(repo);\n",
      name: "R9 a watch misses nothing",
    },
    "holding events until past changes have been sent": {
      file: "main/daemon/socket/connection.ts",
      find: "(this.#everything || this.#repositories.has(repo)) && !this.#catchingUp.has(repo)",
      replace: "this.#everything || this.#repositories.has(repo)",
      name: "R9 a watch misses nothing",
    },
  }),
  ...killedBy("R9", "test/main/daemon/positions.test.ts", {
    "sending a position only with the last event of an atomic set": {
      file: "main/store/repository/commit-together.ts",
      find: "prepared !== last",
      replace: "false",
      name: "the last event of an atomic set",
    },
    "refusing a position that the log does not reach": {
      file: "main/daemon/config/sealed-position.ts",
      find: "if (block.readUInt32BE(0) === 0 && store.mayHave(number)) return",
      replace: "if (block.readUInt32BE(0) === 0) return",
      name: "an older state of its disk",
    },
  }),
  ...killedBy("R9", "test/main/client/watch.test.ts", {
    "holding events after a reconnect until the lost repositories are known": {
      file: "shared/client/watch.ts",
      find: "    this.#held = [];\n",
      name: "follow the message that the connection is resumed",
    },
  }),
  ...killedBy("R10", "test/promises/r10-soon.test.ts", {
    "sending events at once (they are 300 ms late)": {
      file: "main/daemon/daemon.ts",
      find: "    connections.publish(event, service, store);\n",
      replace: "    setTimeout(() => connections.publish(event, service, store), 300);\n",
    },
    "reading a hand edit at once (it is read 300 ms late)": {
      file: "main/store/hand-edits/hand-edit-watcher.ts",
      find: "    if (wait <= 0) refresh();",
      replace: "    if (wait <= 0) setTimeout(refresh, 300);",
    },
  }),
  ...killedBy("R11", "test/promises/r11-ways-of-saving.test.ts", {
    "watcher events about renamed files": {
      file: "main/files/folder-watcher.ts",
      find: `watcher.on("raw", (_event, name) => listener(name ?? undefined));`,
      replace: `watcher.on("raw", (event, name) => event === "change" && listener(name ?? undefined));`,
    },
  }),
  ...killedBy("R12", "test/promises/r12-own-writes.test.ts", {
    "waiting for the running write before a file is refreshed": {
      file: "main/store/hand-edits/hand-edit-reader.ts",
      find: "    return this.#context.mirror.locked(() => this.refreshLocked());",
      replace: "    return this.refreshLocked();",
    },
    "both comparisons that tell our own writes from hand edits, of the text and of the values (one is enough)": [
      {
        file: "main/files/json-document.ts",
        find: "    if (this.#isRead && text === this.#text) return undefined;\n",
        replace: "",
      },
      {
        file: "main/store/hand-edits/hand-edit-reader.ts",
        find: "if (changes.length > 0 || begins || ",
        replace: "if (changes.length > -1 || begins || ",
      },
    ],
  }),
  ...killedBy("R13", "test/promises/r13-text-stays.test.ts", {
    "keeping a file's line endings": {
      file: "main/files/json-text-edits.ts",
      find: "endOfLine: /\\r\\n|\\r|\\n/.exec(body)?.[0] ?? defaultStyle.endOfLine",
      replace: "endOfLine: defaultStyle.endOfLine",
    },
  }),
  ...killedBy("R15", "test/promises/r15-older-homes.test.ts", {
    "reading the journals of a recorded home": {
      file: "main/store/history/record.ts",
      find: `createHash("sha256").update(text).digest("base64url")`,
      replace: `createHash("sha256").update(text).digest("hex")`,
    },
    "converting a home of an older format": {
      file: "main/home/prepare-home.ts",
      find: "from >= format",
      replace: "from > format",
      name: "is converted by the first start",
    },
  }),
  ...killedBy("R16", "test/promises/r16-bounded.test.ts", {
    "releasing events after they are sent (200 kB of each are kept)": {
      find: "  publish(event: StoreEvent, service: ConfigService, store: Store): void {\n",
      replace:
        "  publish(event: StoreEvent, service: ConfigService, store: Store): void {\n    this.kept ??= [];\n    this.kept.push(Buffer.alloc(200_000, 1));\n",
      file: "main/daemon/socket/connections.ts",
    },
    "the limit on bytes queued for a client that does not read": {
      file: "main/daemon/socket/admission.ts",
      find: "waitingBytes() <= limits.waitingEventBytes",
      replace: "waitingBytes() <= 1024 * limits.waitingEventBytes",
    },
  }),
  ...killedBy("R17", "test/promises/r17-atomic.test.ts", {
    "recording an atomic set as one log entry": {
      file: "main/store/repository/commit-together.ts",
      find: "changes, [commit], number",
      replace: "changes, commit.documents.map(document => ({ ...commit, documents: [document] })), number",
    },
  }),
  ...killedBy("R17", "test/promises/r1-kill.test.ts", {
    "completing a history from the log on startup": {
      file: "main/store/mirror/replay.ts",
      find: "    if (document.revision > newest) {",
      replace: "    if (document.revision > newest + 1) {",
    },
  }),
];
