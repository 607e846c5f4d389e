import { killedBy } from "./mutant.ts";

/** Ways for another program to be taken for the daemon, or a stolen link for its owner: S14. */
export const mutants = [
  ...killedBy("S14", "test/main/client/proven-daemon.test.ts", {
    "the client's comparison of the daemon's proof": {
      file: "shared/client/proofs.ts",
      find: "const isRight = this.#expected !== undefined && proof === this.#expected;",
      replace: "const isRight = this.#expected !== undefined && proof !== undefined;",
    },
    "the role in the signed text (the client's proof is accepted as the daemon's)": {
      file: "shared/handshake.ts",
      find: `repoconf \${kind} 1\\n\${url}\\n\${engineId}\\n\${nonce}`,
      replace: `repoconf \${kind.slice(20)} 1\\n\${url}\\n\${engineId}\\n\${nonce}`,
    },
    "the daemon's comparison of the client's proof": {
      file: "main/daemon/keys/keys.ts",
      find: "if (!sameHash(sign(secret, text), proof)) throw new UnauthorizedError(caller.keyId);",
      replace: "if (proof.length !== sign(secret, text).length) throw new UnauthorizedError(caller.keyId);",
    },
  }),
  ...killedBy("S14", "test/main/daemon/sessions.test.ts", {
    "a link's code working only once": {
      file: "main/daemon/keys/sessions.ts",
      find: "    this.#codes.delete(keyId);\n",
    },
  }),
  ...killedBy("S14", "test/main/daemon/both-loopbacks.test.ts", {
    "checking whether another process uses the same port on the other loopback address": {
      file: "main/daemon/http/listen.ts",
      find: "if (isTaken(error)) throw error;",
    },
  }),
];
