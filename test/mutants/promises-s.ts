import type { Mutant } from "./mutant.ts";

const s3 = { promise: "S3", test: "test/promises/s3-foreign-pages.test.ts" };
const s4 = { promise: "S4", test: "test/promises/s4-no-key.test.ts" };
const s5 = { promise: "S5", test: "test/promises/s5-revoke.test.ts" };
const s6 = { promise: "S6", test: "test/promises/s6-rights.test.ts" };
const s7 = { promise: "S7", test: "test/promises/s7-private-files.test.ts" };
const s9 = { promise: "S9", test: "test/promises/s9-names.test.ts" };
const s10 = { promise: "S10", test: "test/promises/s10-hostile-packets.test.ts" };
const s11 = { promise: "S11", test: "test/promises/s11-desktop-shell.test.ts" };
const s13 = { promise: "S13", test: "test/promises/s13-journal-damage.test.ts" };

/** In shared/handshake.ts. */
const textSigned = ["repoconf $", "{kind} 1\\n$", "{url}\\n$", "{engineId}\\n$", "{nonce}"].join("");
const s14 = { promise: "S14", test: "test/main/client/proven-daemon.test.ts" };

export const mutants: readonly Mutant[] = [
  {
    promise: "S1",
    takenOut: "the address: it listens on all of them",
    file: "main/daemon/server.ts",
    find: `await listen(server, "127.0.0.1", port);`,
    replace: `await listen(server, "0.0.0.0", port);`,
    test: "test/promises/s1-loopback.test.ts",
  },
  {
    promise: "S2",
    takenOut: "the port in the Host: the name alone is compared",
    file: "main/daemon/guard.ts",
    find: "!hosts.has(host)",
    replace: `!names.includes(host.replace(/:\\d*$/, ""))`,
    test: "test/promises/s2-host-names.test.ts",
  },
  {
    promise: "S2",
    takenOut: "the exactness of the Host: another case of the letters is taken too",
    file: "main/daemon/guard.ts",
    find: "!hosts.has(host)",
    replace: "!hosts.has(host.toLowerCase())",
    test: "test/promises/s2-host-names.test.ts",
  },
  {
    promise: "S2",
    takenOut: "the guard on upgrades",
    file: "main/daemon/server.ts",
    find: `head: Buffer) => {
      const refusal = guard(request);`,
    replace: `head: Buffer) => {
      const refusal: Refusal | undefined = undefined;`,
    test: "test/promises/s2-host-names.test.ts",
  },
  {
    ...s3,
    takenOut: "the refusal of the origin null",
    file: "main/daemon/guard.ts",
    find: "origin => !ownOrigins.has(origin) &&",
    replace: `origin => origin !== "null" && !ownOrigins.has(origin) &&`,
  },
  {
    ...s3,
    takenOut:
      "both refusals of an image for a page of another site, the guard's and the header's (either alone suffices)",
    edits: [
      {
        file: "main/daemon/guard.ts",
        find: "originHeaders.length === 0 && isForeignLoad(request)",
        replace: "false",
      },
      {
        file: "main/daemon/screen.ts",
        find: `    "Cross-Origin-Resource-Policy": "same-origin",\n`,
        replace: "",
      },
    ],
  },
  {
    ...s4,
    takenOut: "the end of a key's time",
    file: "main/daemon/keys/keys.ts",
    find: "return caller.expires === undefined || Date.parse(caller.expires) > this.#clock.now();",
    replace: "return true;",
  },
  {
    ...s4,
    takenOut: "the comparison of a key's secret: its id is enough",
    file: "main/daemon/keys/keys.ts",
    find: "known === undefined || !sameHash(hash, known.hash)",
    replace: "known === undefined",
  },
  {
    ...s4,
    takenOut: "the comparison of the owner's secret: its id is enough",
    file: "main/daemon/keys/keys.ts",
    find: "if (id === this.#owner.id && sameHash(hash, this.#owner.hash)) return",
    replace: "if (id === this.#owner.id) return",
  },
  {
    ...s4,
    takenOut: "the refusal of a connection without a key: it may stay, with no rights",
    file: "main/daemon/connections.ts",
    find: "return { caller: authenticate(keyOf(socket)) };",
    replace: `{
      const nobody: Caller = { keyId: "", name: "", owner: false, actor: { kind: "key", id: "", name: "" }, grants: [] };
      return { caller: keyOf(socket) === "" ? nobody : authenticate(keyOf(socket)) };
    }`,
  },
  {
    ...s4,
    takenOut: "the comparison in constant time",
    file: "main/daemon/keys/key-text.ts",
    find: "timingSafeEqual(left, right)",
    replace: "left.equals(right)",
    name: "S4 keys are compared in constant time",
  },
  {
    ...s5,
    takenOut: "the end of the connections at a revoke: they end at the next thing that is asked or told",
    file: "main/daemon/operations/key.ts",
    find: "else disconnect(id);",
    replace: "",
  },
  {
    ...s5,
    takenOut: "the haste of it: the connections of a revoked key end two seconds later",
    file: "main/daemon/connections.ts",
    find: "disconnect: () => socket.disconnect(true),",
    replace: "disconnect: () => void setTimeout(() => socket.disconnect(true), 2_000),",
  },
  {
    ...s5,
    takenOut: "the end of all connections of a revoked key but the first",
    file: "main/daemon/connections.ts",
    find: "if (connection.caller.keyId === keyId) connection.socket.disconnect();",
    replace: "if (connection.caller.keyId === keyId) return connection.socket.disconnect();",
  },
  {
    ...s5,
    takenOut: "the end of a revoked key before the next start",
    file: "main/daemon/keys/keys.ts",
    find: "    this.#callers.delete(id);\n",
    replace: "",
  },
  {
    ...s6,
    takenOut: "the grants on past revisions",
    file: "main/daemon/config-service.ts",
    find: "    return readableConfig(config, repo, caller.grants);\n",
    replace: "    return config;\n",
  },
  {
    ...s6,
    takenOut: "the grants on values that are stored",
    file: "main/daemon/config-service.ts",
    find: "request.stored ? readableConfig(state.stored, repo, caller.grants) : readable",
    replace: "request.stored ? state.stored : readable",
  },
  {
    ...s6,
    takenOut: "the grants on what a watcher missed",
    file: "main/daemon/catch-up.ts",
    find: "const seen = service.viewChange(caller, repo, change);",
    replace: `const seen = service.viewChange({ ...caller, grants: [{ repos: "*", fields: ["*"], right: "write" }] }, repo, change);`,
  },
  {
    ...s6,
    takenOut: "the grants on the revisions that a watch answers",
    file: "main/daemon/operations/config.ts",
    find: "(ids ?? [...store.ids()].filter(id => service.canSee(caller, id)))",
    replace: "(ids ?? [...store.ids()])",
  },
  {
    ...s6,
    takenOut: "the grants on the health of a repository",
    file: "main/daemon/config-service.ts",
    find: `return allows(caller.grants, "read", repo, field.includes(".") ? field : \`\${field}.*\`) ? problem : [];`,
    replace: "return problem;",
  },
  {
    ...s6,
    takenOut: "the silence about health that a key does not see",
    file: "main/daemon/config-service.ts",
    find: "return sameJson(entry.health, readableHealth(caller, entry.id, event.before)) ? undefined : entry;",
    replace: "return entry;",
  },
  {
    ...s6,
    takenOut: "the grants on the count of stored fields",
    file: "main/daemon/config-service.ts",
    find: "countConfigFields(readableConfig(stored, id, caller.grants))",
    replace: "countConfigFields(stored)",
  },
  {
    ...s6,
    takenOut: "the grants on records of what was forgotten",
    file: "main/daemon/change-views.ts",
    find: `if (!allows(caller.grants, "read", repo, field) || (path ?? field) !== field) return undefined;`,
    replace: "if ((path ?? field) !== field) return undefined;",
  },
  {
    ...s6,
    takenOut: "the grants on a set of several repositories: what may be written in one is written in all",
    file: "main/daemon/config-changes.ts",
    find: `if (split === undefined || field === undefined || !allows(caller.grants, "write", repo, path))`,
    replace: "if (split === undefined || field === undefined)",
  },
  {
    ...s6,
    takenOut: "the difference of read and write",
    file: "shared/grants.ts",
    find: `return right === "read" || grant.right === "write";`,
    replace: "return true;",
  },
  {
    ...s6,
    takenOut: "the silence of a broken file's error about what stands in it",
    file: "main/daemon/config-service.ts",
    find: `if (error.code !== 1106 || error.repo === undefined || allowsEveryField(caller.grants, "read", error.repo))`,
    replace: "if (error.code)",
  },
  {
    ...s6,
    takenOut: "the silence of the health about what stands in a broken file",
    file: "main/daemon/config-service.ts",
    find: "if (field === undefined && code !== 1106) return problem;",
    replace: "if (field === undefined) return problem;",
  },
  {
    ...s6,
    takenOut: "the silence of a rule's message about a field that the key may not read",
    file: "main/daemon/config-changes.ts",
    find: "if (!canRead(path) || !canRead(target)) {",
    replace: "if (!canRead(path) && !canRead(target)) {",
  },
  {
    ...s6,
    takenOut: "the silence about the names of other keys",
    file: "main/daemon/change-views.ts",
    find: `return actor.id === caller.actor.id ? "this key" : "another key";`,
    replace: `return actor.id === caller.actor.id ? "this key" : actor.name;`,
  },
  {
    ...s6,
    takenOut: "the silence about revisions in which a key may see nothing, and about their reasons",
    file: "main/daemon/change-views.ts",
    find: "  if (!visible) return undefined;\n",
    replace: "",
  },
  {
    ...s6,
    takenOut: "the grants on the schemas of scopes",
    file: "main/daemon/operations/scope.ts",
    find: `fields.filter(([field]) => allowsSomewhere(caller.grants, "read", joinConfigPath(name, field))),`,
    replace: "fields,",
  },
  {
    ...s7,
    takenOut: "the mode of the files that the daemon makes",
    file: "main/daemon/home.ts",
    find: "temporaryFolder: home.temporary, mode: 0o600, maximumBytes,",
    replace: "temporaryFolder: home.temporary, mode: 0o666, maximumBytes,",
  },
  {
    ...s7,
    takenOut: "the closing of a key's file that was open to others",
    file: "main/daemon/keys/keys.ts",
    find: "      await file.makePrivate();\n    } catch",
    replace: "    } catch",
  },
  {
    ...s7,
    takenOut: "the closing of a home that was open to others",
    file: "main/daemon/home.ts",
    find: "  if ((stats.mode & 0o077) !== 0) await chmod(folder, 0o700);\n",
    replace: "",
  },
  {
    ...s7,
    takenOut: "the look whether a folder of the home is a link",
    file: "main/daemon/home.ts",
    find: "import { chmod, lstat, mkdir,",
    replace: "import { chmod, stat as lstat, mkdir,",
  },
  {
    ...s7,
    takenOut: "the proof that a daemon is the home's, before it is sent a key",
    file: "main/client/locate.ts",
    find: "return one.length === other.length && timingSafeEqual(one, other) ? endpoint : undefined;",
    replace: "return one.length === other.length || timingSafeEqual(one, other) ? endpoint : undefined;",
  },
  {
    promise: "S8",
    takenOut: "the silence of the log about keys that were refused",
    file: "main/daemon/connections.ts",
    find: "      this.#options.onRefusal(error);\n      const { code } = error;",
    replace: `      this.#options.onRefusal(error.code === 1100 ? new RepoconfError(1107, "Refused: " + keyOf(socket)) : error);
      const { code } = error;`,
    test: "test/promises/s8-keys-nowhere.test.ts",
  },
  {
    ...s9,
    takenOut: "the check of a repository's id",
    file: "shared/repository-id.ts",
    find: "return repositoryId.test(id) && !deviceName.test(id);",
    replace: "return id.length <= 64 || (repositoryId.test(id) && !deviceName.test(id));",
  },
  {
    ...s9,
    takenOut: "the refusal of a member called __proto__ in a value: the disk is blamed",
    file: "main/daemon/scopes.ts",
    find: `  if (Object.hasOwn(value, "__proto__")) return path;\n`,
    replace: "",
  },
  {
    ...s10,
    takenOut: "the look whether an operation's name is a text",
    file: "main/daemon/dispatch.ts",
    find: `(typeof value === "string" ? value.slice(0, 64) : "")`,
    replace: "(value as string).slice(0, 64)",
  },
  {
    ...s10,
    takenOut: "the one catch: a refused message ends the daemon",
    file: "main/daemon/dispatch.ts",
    find: `      callback?.({ result: emptyResult(name), errors: [error.toEntry()] });`,
    replace: `      callback?.({ result: emptyResult(name), errors: [error.toEntry()] });
      throw error;`,
  },
  {
    ...s11,
    takenOut: "the sandbox of the window's page",
    file: "main/electron/lockdown.ts",
    find: "  sandbox: true,",
    replace: "  sandbox: false,",
  },
  {
    ...s11,
    takenOut: "the look at who calls what is native",
    file: "main/electron/native-calls.ts",
    find: `      if (!owns(event.senderFrame)) throw new Error("This page may not call that.");\n`,
    replace: "",
  },
  {
    ...s11,
    takenOut: "the comparison of a whole origin: its start is enough for a navigation",
    file: "main/electron/lockdown.ts",
    find: "if (URL.parse(event.url)?.origin !== origin) event.preventDefault();",
    replace: "if (!event.url.startsWith(origin)) event.preventDefault();",
  },
  {
    promise: "S12",
    takenOut: "the policy against scripts in the page",
    file: "main/daemon/screen.ts",
    find: `"script-src 'self'",`,
    replace: `"script-src 'self' 'unsafe-inline'",`,
    test: "test/promises/s12-scripts-in-names.test.ts",
  },
  {
    promise: "S12",
    takenOut: "the escaping of a field's description",
    file: "renderer/page/field-row.tsx",
    find: `<p className="field-description" id={\`\${id}-description\`}>
          {schema.description}
        </p>`,
    replace: `<p className="field-description" id={\`\${id}-description\`} dangerouslySetInnerHTML={{ __html: schema.description }} />`,
    test: "test/promises/s12-scripts-in-names.test.ts",
  },
  {
    ...s13,
    takenOut: "the checksum of a journal's line",
    file: "main/daemon/store/journal/record.ts",
    find: "if (end === -1 || hashText(content) !== hash) return undefined;",
    replace: "if (end === -1) return undefined;",
  },
  {
    ...s13,
    takenOut:
      "the comparison of a journal's line with the one behind it: a history with a gap is told as if it were all",
    file: "main/daemon/store/journal/journal.ts",
    find: "if (line === undefined || (expected !== undefined && line.hash !== expected))",
    replace: "if (line === undefined)",
  },
  {
    ...s13,
    takenOut:
      "both comparisons that find a gap in what a watcher missed, of hashes and of numbers (either alone suffices)",
    edits: [
      {
        file: "main/daemon/store/journal/journal.ts",
        find: "if (line === undefined || (expected !== undefined && line.previous !== expected))",
        replace: "if (line === undefined)",
      },
      {
        file: "main/daemon/store/repository-history.ts",
        find: "    if (change.revision !== at + 1) throw lostRevision(repository, at + 1);\n",
        replace: "",
      },
    ],
  },
  {
    promise: "documents",
    takenOut: "the name of an option that the documents show",
    file: "main/cli/change.ts",
    find: `"--if-revision <n>",`,
    replace: `"--at-revision <n>",`,
    test: "test/docs/documents.test.ts",
  },
  {
    promise: "log",
    takenOut: "what was counted of a log that was put aside: it is put aside again at each line",
    file: "main/rotating-log.ts",
    find: "    this.#handle = handle;\n    this.#bytes = 0;",
    replace: "    this.#handle = handle;",
    test: "test/main/cli/rotating-log.test.ts",
  },
  {
    promise: "edits",
    takenOut: "the comparison of values: an edit of comments alone is a revision",
    file: "main/daemon/store/repository.ts",
    find: "if (changes.length > 0 || begins) {",
    replace: "if (changes.length >= 0) {",
    test: "test/main/daemon/store/hand-edits.test.ts",
    name: "an edit of comments alone is taken up and is no change",
  },
  {
    ...s14,
    takenOut: "the client's comparison of the daemon's proof",
    file: "shared/client/proofs.ts",
    find: "this.#expected !== undefined && proof === this.#expected",
    replace: "this.#expected !== undefined && proof !== undefined",
  },
  {
    ...s14,
    takenOut: "the client's wait for the daemon's proof",
    file: "shared/client/client.ts",
    find: `    socket.once("connect_error", error =>`,
    replace: `    socket.once("connect", resolve);
    socket.once("connect_error", error =>`,
  },
  {
    ...s14,
    takenOut: "the check of who signed a refusal",
    file: "shared/client/proofs.ts",
    find: "if (signAsDaemon === undefined) return true;",
    replace: "if (signAsDaemon === undefined || signAsDaemon !== undefined) return true;",
  },
  {
    ...s14,
    takenOut: "the connection's id in what is signed",
    file: "shared/handshake.ts",
    find: textSigned,
    replace: textSigned.replace("engineId", "engineId.slice(43)"),
  },
  {
    ...s14,
    takenOut: "the address in what is signed",
    file: "shared/handshake.ts",
    find: textSigned,
    replace: textSigned.replace("url", "url.slice(0, 4)"),
  },
  {
    ...s14,
    takenOut: "who speaks in what is signed: the client's proof would do for the daemon's",
    file: "shared/handshake.ts",
    find: textSigned,
    replace: textSigned.replace("kind", "kind.slice(20)"),
  },
  {
    ...s14,
    takenOut: "the daemon's comparison of the client's proof",
    file: "main/daemon/keys/keys.ts",
    find: "if (!sameHash(sign(secret, text), proof)) throw new UnauthorizedError(caller.keyId);",
    replace: "if (proof.length !== sign(secret, text).length) throw new UnauthorizedError(caller.keyId);",
  },
  {
    promise: "S14",
    takenOut: "the refusal of an Origin on the Unix socket",
    file: "main/daemon/guard.ts",
    find: `if (request.headersDistinct["origin"] === undefined) return undefined;`,
    replace: "if (request.headersDistinct !== undefined) return undefined;",
    test: "test/main/daemon/local-socket.test.ts",
  },
  {
    promise: "S14",
    takenOut: "the look at whose folder the Unix socket is in",
    file: "main/daemon/local-socket.ts",
    find: "if (!stats.isDirectory() || stats.uid !== process.getuid?.())",
    replace: "if (stats.uid !== process.getuid?.())",
    test: "test/main/daemon/local-socket.test.ts",
  },
  {
    promise: "S14",
    takenOut: "the client's preference for the Unix socket",
    file: "main/client/locate.ts",
    find: "return stats?.isSocket() ? socket : undefined;",
    replace: "return stats?.isFile() ? socket : undefined;",
    test: "test/main/daemon/local-socket.test.ts",
  },
];
