import { killedBy } from "./mutant.ts";

/** Ways in without a key, and harm by what a client sends or a page shows: S1 to S5, S7 to S13 and S20. */
export const mutants = [
  ...killedBy("S1", "test/promises/s1-loopback.test.ts", {
    "listening on the loopback address only": {
      file: "main/daemon/http/listen.ts",
      find: `await listen(ipv4.server, { host: "127.0.0.1", port: attempt === 0 ? port : 0 });`,
      replace: `await listen(ipv4.server, { host: "0.0.0.0", port: attempt === 0 ? port : 0 });`,
    },
  }),
  ...killedBy("S2", "test/promises/s2-host-names.test.ts", {
    "comparing the port in the Host header": {
      file: "main/daemon/http/guard.ts",
      find: "!hosts.includes(host)",
      replace: `!hosts.some(one => one.replace(/:\\d*$/, "") === host.replace(/:\\d*$/, ""))`,
    },
    "the guard on upgrades": {
      file: "main/daemon/http/server.ts",
      find: "head: Buffer) => {\n      const refusal = guard(request, true);",
      replace: "head: Buffer) => {\n      const refusal: Refusal | undefined = undefined;",
    },
  }),
  ...killedBy("S3", "test/promises/s3-foreign-pages.test.ts", {
    "the refusal of a browser's upgrade with the daemon's own address as Origin": {
      file: "main/daemon/http/guard.ts",
      find: " && !isFromBrowser(request);",
      replace: ";",
    },
    "both protections against loading images from other sites, the guard and the response header (one is enough)": [
      {
        file: "main/daemon/http/guard.ts",
        find: "originHeaders.length === 0 && isForeignLoad(request, screenHosts.includes(host))",
        replace: "false",
      },
      {
        file: "main/daemon/http/screen.ts",
        find: `    "Cross-Origin-Resource-Policy": "same-origin",\n`,
        replace: "",
      },
    ],
  }),
  ...killedBy("S3", "test/main/daemon/guard.test.ts", {
    "the origin check": {
      file: "main/daemon/http/guard.ts",
      find: "originHeaders.find(origin => !ownOrigins.includes(origin) && !allowedOrigins().includes(origin))",
      replace: "originHeaders.find(() => false)",
      name: "every other Origin is refused",
    },
  }),
  ...killedBy("S4", "test/promises/s4-no-key.test.ts", {
    "the expiry of a key": {
      file: "main/daemon/keys/keys.ts",
      find: "return caller.expires === undefined || Date.parse(caller.expires) > this.#clock.now();",
      replace: "return true;",
    },
    "comparing the owner's secret (its id is enough)": {
      file: "main/daemon/keys/keys.ts",
      find: "if (id === this.#owner.id && sameHash(hash, this.#owner.hash)) return",
      replace: "if (id === this.#owner.id) return",
      name: "whatever part of one is wrong",
    },
    "the refusal of connections without a key (they stay, without rights)": {
      file: "main/daemon/socket/admission.ts",
      find: "return { caller: authentication.authenticate(keyOf(socket)) };",
      replace: `{\n      const nobody: Caller = { keyId: "", name: "", owner: false, actor: { kind: "key", id: "", name: "" }, grants: [] };\n      return { caller: keyOf(socket) === "" ? nobody : authentication.authenticate(keyOf(socket)) };\n    }`,
    },
  }),
  ...killedBy("S5", "test/promises/s5-revoke.test.ts", {
    "disconnecting a key's clients when it is revoked (they are disconnected at their next request or event)": {
      file: "main/daemon/operations/key.ts",
      find: "else connections.disconnectKey(id);",
    },
    "ending a revoked key before the next start": {
      file: "main/daemon/keys/keys.ts",
      find: "    this.#callers.delete(id);\n",
    },
  }),
  ...killedBy("S7", "test/promises/s7-private-files.test.ts", {
    "the mode of files that the daemon creates": {
      file: "main/home/prepare-home.ts",
      find: "temporaryFolder: home.temporary, mode: 0o600, maximumBytes,",
      replace: "temporaryFolder: home.temporary, mode: 0o666, maximumBytes,",
    },
    "checking whether a folder of the home is a symbolic link": {
      file: "main/home/prepare-home.ts",
      find: "import { chmod, lstat, mkdir,",
      replace: "import { chmod, stat as lstat, mkdir,",
    },
    "verifying the daemon's identity before a key is used": {
      file: "main/client/locate.ts",
      find: "return one.length === other.length && timingSafeEqual(one, other) ? endpoint : undefined;",
      replace: "return one.length === other.length || timingSafeEqual(one, other) ? endpoint : undefined;",
    },
  }),
  ...killedBy("S8", "test/promises/s8-keys-nowhere.test.ts", {
    "keeping refused keys out of the log": {
      file: "main/daemon/socket/admission.ts",
      find: "      this.#options.onRefusal(error);\n      const { code } = error;",
      replace: `      this.#options.onRefusal(error.code === 1100 ? new RepoconfError(1107, "Refused: " + keyOf(socket)) : error);\n      const { code } = error;`,
    },
  }),
  ...killedBy("S8", "test/e2e/ui.test.ts", {
    "the terminal check before the daemon prints a link": {
      file: "main/cli/run-daemon.ts",
      find: "isTerminal() && !mayResolveLocalhostOverNetwork()",
      replace: "daemon.url && !mayResolveLocalhostOverNetwork()",
      name: "is printed on a terminal only",
    },
  }),
  ...killedBy("S9", "test/promises/s9-names.test.ts", {
    "validating a repository's id": {
      file: "shared/repository-id.ts",
      find: "return repositoryId.test(id) && !deviceName.test(id);",
      replace: "return id.length <= 64 || (repositoryId.test(id) && !deviceName.test(id));",
    },
    "the refusal of a member called __proto__ in a value": {
      file: "main/scopes/value-check.ts",
      find: `  if (Object.hasOwn(value, "__proto__")) return "";\n`,
    },
  }),
  ...killedBy("S10", "test/promises/s10-hostile-packets.test.ts", {
    "the central catch (a refused message ends the daemon)": {
      file: "main/daemon/socket/dispatch.ts",
      find: "      return { reply: { result: emptyResult(name), errors: [failure.toEntry()] }, failure };",
      replace: "      throw failure;",
    },
  }),
  ...killedBy("S11", "test/promises/s11-desktop-shell.test.ts", {
    "the sandbox of the window's page": {
      file: "main/electron/lockdown.ts",
      find: "  sandbox: true,",
      replace: "  sandbox: false,",
    },
    "checking the sender of native calls": {
      file: "main/electron/native-calls.ts",
      find: `      if (!owns(event.senderFrame)) throw new Error("This page is not allowed to call that.");\n`,
    },
    "comparing the whole URL of a navigation (a prefix is enough)": {
      file: "main/electron/lockdown.ts",
      find: "return url.startsWith(screenUrl);",
      replace: "return url.startsWith(screenUrl.slice(0, -1));",
    },
  }),
  ...killedBy("S12", "test/promises/s12-scripts-in-names.test.ts", {
    "forbidding inline scripts in the Content Security Policy": {
      file: "main/daemon/http/screen.ts",
      find: `"script-src 'self'",`,
      replace: `"script-src 'self' 'unsafe-inline'",`,
    },
    "escaping a field's description": {
      file: "renderer/repository/field-row.tsx",
      find: `<p className="visually-hidden" id={\`\${id}-description\`}>\n          {description}\n        </p>`,
      replace: `<p className="visually-hidden" id={\`\${id}-description\`} dangerouslySetInnerHTML={{ __html: description }} />`,
    },
  }),
  ...killedBy("S13", "test/promises/s13-journal-damage.test.ts", {
    "the checksum of a journal line": {
      file: "main/store/history/record.ts",
      find: "if (end === -1 || hashText(content) !== hash) return undefined;",
      replace: "if (end === -1) return undefined;",
    },
    "comparing a journal line with the hash in the next one (a history with a gap is returned as complete)": {
      file: "main/store/history/journal.ts",
      find: "if (line === undefined || (expected !== undefined && line.hash !== expected))",
      replace: "if (line === undefined)",
    },
  }),
  ...killedBy("S20", "test/promises/s20-one-shot.test.ts", {
    "refusing one-shot requests at the port": {
      file: "main/daemon/http/one-shot.ts",
      find: `if (channel === "socket") return;`,
      replace: "if (channel !== undefined) return;",
    },
    "checking the key before the body (it is checked when some of it has arrived)": {
      file: "main/daemon/http/one-shot.ts",
      find: "      const { caller, lease } = this.#admit(request, response);\n      checkBodyHeaders(request);\n",
      replace:
        '      checkBodyHeaders(request);\n      await new Promise(resolve => request.once("readable", resolve));\n      const { caller, lease } = this.#admit(request, response);\n',
    },
    "the refusal of an Origin in a one-shot request": {
      file: "main/daemon/http/guard.ts",
      find: `if (request.headersDistinct["origin"] !== undefined)`,
      replace: `if (request.headersDistinct["origin"] !== undefined && !isOneShot(request))`,
    },
    "the limit on a body that does not announce its length": {
      file: "main/daemon/http/read-body.ts",
      find: "    if (bytes > limits.transportBytes) {",
      replace: "    if (bytes > Number.MAX_SAFE_INTEGER) {",
    },
  }),
];
