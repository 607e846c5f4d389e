import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon, until } from "../../helpers/daemon.ts";
import { holdCalls, isReplaced, watchFileSystem } from "../../helpers/file-system.ts";

let t: TestDaemon;
beforeAll(async () => {
  t = await startTestDaemon();
});
afterAll(() => t[Symbol.asyncDispose]());

async function ask(target: string, method = "GET"): Promise<{ status: number; headers: Headers; text: string }> {
  const response = await fetch(t.url + target, { method });
  return { status: response.status, headers: response.headers, text: (await response.text()).trim() };
}

/** The proof as protocol page 1 defines it, computed from daemon.json. */
async function expectedProof(nonce: string): Promise<string> {
  const { url, instanceSecret } = JSON.parse(await readFile(join(t.homeFolder, "daemon.json"), "utf8"));
  return createHmac("sha256", instanceSecret).update(`repoconf identity 1\n${url}\n${nonce}`).digest("hex");
}

describe("GET /identity", () => {
  test.each([
    ["32 digits", "0123456789abcdef0123456789abcdef"],
    ["an odd number of digits", "a".repeat(33)],
    ["128 digits", "f".repeat(128)],
    ["capital letters, taken as they are", "ABCDEF0123456789ABCDEF0123456789"],
  ])("proves that the daemon knows the secret in daemon.json: %s", async (_, nonce) => {
    const { status, text } = await ask(`/identity?nonce=${nonce}`);
    expect(status).toBe(200);
    expect(text).toBe(await expectedProof(nonce));
  });

  test("proves its own URL, whatever host name the request uses", async () => {
    const nonce = "1".repeat(32);
    const answer = await fetch(`${t.url.replace("127.0.0.1", "localhost")}/identity?nonce=${nonce}`);
    expect((await answer.text()).trim()).toBe(await expectedProof(nonce));
  });

  test.each([
    ["none", ""],
    ["empty", "?nonce="],
    ["31 digits", `?nonce=${"a".repeat(31)}`],
    ["129 digits", `?nonce=${"a".repeat(129)}`],
    ["not hexadecimal", `?nonce=${"g".repeat(32)}`],
    ["a trailing line break", `?nonce=${"a".repeat(32)}%0A`],
    ["a line break and a second URL", `?nonce=http://evil.example%0A${"a".repeat(32)}`],
    ["other Unicode digits", `?nonce=${"%EF%BC%91".repeat(32)}`],
    ["another name", `?Nonce=${"a".repeat(32)}`],
  ])("refuses a nonce that is not 32 to 128 hexadecimal digits: %s", async (_, query) => {
    const { status, text } = await ask(`/identity${query}`);
    expect(status).toBe(400);
    expect(text).toMatch(/32 to 128 hexadecimal digits/);
  });
});

describe("plain routes", () => {
  test.each(["/nothing", "/daemon.json", "/owner.key", "/../owner.key", "/socket.io", "/__proto__"])(
    "%s does not exist, and nothing about the home is revealed",
    async target => {
      const { status, text } = await ask(target);
      expect([400, 404]).toContain(status);
      expect(text).not.toContain(t.homeFolder);
      expect(text).not.toContain("repoconf_");
    },
  );

  test.each(["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])("%s is answered with 405", async method => {
    for (const target of ["/", "/livez", "/readyz", "/identity", "/nothing"]) {
      expect((await ask(target, method)).status).toBe(405);
    }
  });

  test.each(["/", "/livez", "/readyz", "/identity", "/nothing", `/identity?nonce=${"a".repeat(32)}`])(
    "%s may not be framed, sniffed, cached or read from another origin",
    async target => {
      const { headers } = await ask(target);
      expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("access-control-allow-origin")).toBeNull();
      expect(headers.get("set-cookie")).toBeNull();
      expect(headers.get("x-powered-by")).toBeNull();
    },
  );

  test("/livez and /readyz say that all is well, and while the daemon stops, that it is alive but not ready", async () => {
    for (const [target, text] of [
      ["/livez", "alive"],
      ["/readyz", "ready"],
    ] as const)
      expect(await ask(target)).toMatchObject({ status: 200, text });
    const fileSystem = watchFileSystem();
    await using slow = await startTestDaemon({ fileSystem, repositories: ["shop"] });
    const write = holdCalls(fileSystem, isReplaced("shop"));
    const set = slow.owner.call("config/set", { repo: "shop", flush: true, "svc.timeout": 7 });
    await write.begun;
    const closed = slow.daemon.close();
    try {
      await until(async () => (await fetch(`${slow.url}/readyz`)).status === 503, "not ready");
      expect((await fetch(`${slow.url}/livez`)).status).toBe(200);
    } finally {
      write.release();
    }
    await set;
    await closed;
  });
});
