import { createHash, createHmac } from "node:crypto";
import { io } from "socket.io-client";
import { describe, expect, test } from "vitest";
import { locateDaemon } from "../../../main/client/locate.ts";
import { keyCredentials } from "../../../main/home/credentials.ts";
import { RepoconfClient } from "../../../shared/client/client.ts";
import { startTestDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { patience } from "../../helpers/patience.ts";
import { startRelay, startSquatter } from "../../helpers/squatter.ts";

/** A client of the home that takes this URL for the daemon's. */
function clientAt(t: TestDaemon, url: string): RepoconfClient {
  return new RepoconfClient({
    timeout: patience,
    locate: async () => {
      const { credentials, signAsDaemon } = await locateDaemon({ home: t.homeFolder });
      return { url, credentials, ...(signAsDaemon && { signAsDaemon }) };
    },
  });
}

const secretPart = (key: string) => key.split("_").slice(2).join("_");

describe("an impostor on the daemon's port", () => {
  test.each(["welcome", "lie", "refuse"] as const)(
    "that answers with %s gets no key and no value, and nothing that it sends is trusted",
    async answer => {
      await using t = await startTestDaemon();
      await using squatter = await startSquatter({ answer });
      using client = clientAt(t, squatter.url);
      await expect(client.connect()).rejects.toMatchObject({
        code: 1200,
        message: expect.stringContaining("is not your daemon"),
      });
      expect(squatter.connections()).toBe(1);
      expect(squatter.received()).not.toContain(secretPart(t.ownerKey));
      expect(squatter.received()).not.toContain("config");
    },
  );

  test("that relays everything to the real daemon is detected: the signature names another address", async () => {
    await using t = await startTestDaemon();
    await using relay = await startRelay(Number(new URL(t.url).port));
    const credentials = keyCredentials(t.ownerKey);
    const plain = io(relay.url, { auth: { apiKey: t.ownerKey }, transports: ["websocket"], forceNew: true });
    await new Promise(resolve => plain.once("connect", () => resolve(undefined)));
    plain.close();
    using client = new RepoconfClient({ locate: async () => ({ url: relay.url, credentials }), timeout: patience });
    await expect(client.connect()).rejects.toMatchObject({ code: 1100 });
    // It knows the daemon's secret, so it detects that the refusal names another address too.
    using ofHome = clientAt(t, relay.url);
    await expect(ofHome.connect()).rejects.toMatchObject({ code: 1200 });
  });
});

describe("the daemon", () => {
  /** Its answer to a proof, which signs the actual connection unless `change` says otherwise. */
  async function knock(
    t: TestDaemon,
    change: {
      readonly keyId?: unknown;
      readonly nonce?: unknown;
      readonly proof?: unknown;
      readonly url?: string;
      readonly engineId?: string;
      readonly kind?: string;
      readonly secret?: Buffer;
      readonly transport?: "polling";
    } = {},
  ) {
    const key = t.ownerKey;
    const secret = change.secret ?? createHash("sha256").update(key).digest();
    const nonce = "ab".repeat(32);
    let sent: { readonly [member: string]: unknown } = {};
    let text = "";
    const socket = io(t.url, {
      forceNew: true,
      reconnection: false,
      transports: [change.transport ?? "websocket"],
      auth: send => {
        text = `1\n${change.url ?? t.url}\n${change.engineId ?? socket.io.engine.id}\n${nonce}`;
        const proof = createHmac("sha256", secret)
          .update(`repoconf ${change.kind ?? "client"} ${text}`)
          .digest("hex");
        sent = { keyId: key.split("_")[1], nonce, proof, ...change };
        send(sent);
      },
    });
    try {
      return await new Promise<{ readonly answer?: unknown; readonly expected?: string; readonly sent: object }>(
        resolve => {
          socket.once("svc", (...answer) => {
            const expected = createHmac("sha256", secret).update(`repoconf server ${text}`).digest("hex");
            resolve({ answer, expected, sent });
          });
          socket.once("connect_error", error => resolve({ answer: "data" in error && error.data, sent }));
        },
      );
    } finally {
      socket.close();
    }
  }

  test("answers a proof with its own, as the protocol page documents, also by polling", async () => {
    await using t = await startTestDaemon();
    for (const change of [{}, { transport: "polling" } as const]) {
      const { answer, expected } = await knock(t, change);
      expect(answer).toEqual(["session", expected]);
    }
  });

  test("refuses every other proof with 1100", async () => {
    await using t = await startTestDaemon();
    const first = await knock(t);
    const other = await t.owner.call("key/create", { name: "tool", grants: [] });
    const wrong: readonly [title: string, change: Parameters<typeof knock>[1]][] = [
      ["a proof of another connection", { proof: Reflect.get(first.sent, "proof") }],
      ["signed for another connection", { engineId: "another" }],
      ["signed for another address", { url: "http://127.0.0.1:1" }],
      ["the text that the daemon signs", { kind: "server" }],
      ["by another key", { secret: createHash("sha256").update(other.result.key).digest() }],
      ["by the text of the hash", { secret: Buffer.from(createHash("sha256").update(t.ownerKey).digest("hex")) }],
      ["by nothing", { secret: Buffer.alloc(0) }],
      ["another key's id", { keyId: other.result.id }],
      ["an unknown id", { keyId: "000000000000" }],
      ["what every object inherits", { keyId: "constructor" }],
      ["no id", { keyId: undefined }],
      ["no nonce", { nonce: undefined }],
      ["an empty nonce", { nonce: "" }],
      ["a nonce with a line end", { nonce: `${"ab".repeat(31)}\n` }],
      ["no proof", { proof: undefined }],
      ["an empty proof", { proof: "" }],
      ["a proof that is no text", { proof: 5 }],
    ];
    for (const [title, change] of wrong)
      expect((await knock(t, change)).answer, title).toMatchObject({ code: 1100, name: "Unauthorized" });
  });

  test("generates a 256-bit id for each connection", async () => {
    await using t = await startTestDaemon();
    const ids = new Set<string>();
    for (let count = 0; count < 5; count++) {
      const client = await t.connect();
      ids.add(client.socket.io.engine.id ?? "");
    }
    expect(ids.size).toBe(5);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });
});
