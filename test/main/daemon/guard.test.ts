import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { pollingHandshake, rawRequest, waysIn } from "../../helpers/raw-http.ts";

let t: TestDaemon;
let port: number;
beforeAll(async () => {
  t = await startTestDaemon();
  port = Number(new URL(t.url).port);
});
afterAll(() => t[Symbol.asyncDispose]());

/** Replaces PORT and OTHER with the daemon's port and the next one, SCREEN with the screen's host. */
function filled(text: string): string {
  return text
    .replaceAll("SCREEN", t.screenHost)
    .replaceAll("PORT", String(port))
    .replaceAll("OTHER", String(port === 65_535 ? 1 : port + 1));
}

async function refusals(cause: "origin" | "page"): Promise<number> {
  const { result } = await t.owner.call("daemon/status");
  return result.refusals?.[cause] ?? 0;
}

const refusedOrigins = [
  ...["http://evil.example", "null", "file://", "", "ws://127.0.0.1:PORT", "repoconf-screen://other"],
  ...["http://127.0.0.1:OTHER", "http://127.0.0.1:PORT/", "http://127.0.0.1:PORT.evil.example", "http://127.0.0.1"],
  ...["http://localhost", "http://LOCALHOST:PORT", "http://x.localhost:PORT", "http://localhost:PORT"],
  ...["http://localhost:PORT@evil.example", "http://localhost:PORT http://evil.example"],
  ...["http://[::1]:PORT", "http://127.1:PORT", "chrome-extension://abcdefghijklmnop"],
];

describe.each(waysIn)("by $way", ({ target, headers, granted }) => {
  test("each own Host is accepted, without an Origin or with that of the screen or of the desktop window", async () => {
    for (const lines of [
      ...["127.0.0.1:PORT", "localhost:PORT", "[::1]:PORT"].map(host => [`Host: ${host}`]),
      ...["http://SCREEN", "repoconf-screen://app"].map(origin => ["Host: 127.0.0.1:PORT", `Origin: ${origin}`]),
    ])
      expect((await rawRequest(t.url, target, { headers: [...lines.map(filled), ...headers] })).status).toBe(granted);
  });

  test("a tab of an earlier daemon's screen is refused and counted separately", async () => {
    const before = await refusals("page");
    const host = `${"0123456789abcdef".repeat(2)}.localhost:PORT`;
    const answer = await rawRequest(t.url, target, { headers: [filled(`Host: ${host}`), ...headers] });
    expect(answer.status).toBe(403);
    expect(await refusals("page")).toBe(before + 1);
  });

  test("two Host headers are refused, and a missing one", async () => {
    const own = "127.0.0.1:PORT";
    for (const hosts of [
      [own, "evil.example"],
      ["evil.example", own],
      [own, own],
    ]) {
      const lines = hosts.map(host => filled(`Host: ${host}`));
      expect((await rawRequest(t.url, target, { headers: [...lines, ...headers] })).status).toBe(403);
    }
    // Node itself answers HTTP/1.1 without a Host with 400, before the daemon sees it; HTTP/1.0 may omit it.
    const { status } = await rawRequest(t.url, target, { headers });
    expect([400, 403]).toContain(status);
    expect((await rawRequest(t.url, target, { version: "1.0", headers })).status).toBe(403);
  });

  test("every other Origin is refused with 403, without a CORS header, and counted, also beside that of the screen", async () => {
    for (const origin of refusedOrigins) {
      const before = await refusals("origin");
      const lines = ["Host: 127.0.0.1:PORT", `Origin: ${origin}`].map(filled);
      const answer = await rawRequest(t.url, target, { headers: [...lines, ...headers] });
      expect(answer.status, origin).toBe(403);
      expect([...answer.headers.keys()].filter(name => name.startsWith("access-control"))).toEqual([]);
      expect(await refusals("origin")).toBe(before + 1);
    }
    const two = ["Origin: http://SCREEN", "Origin: http://evil.example"];
    for (const origins of [two, two.toReversed()]) {
      const lines = ["Host: 127.0.0.1:PORT", ...origins].map(filled);
      expect((await rawRequest(t.url, target, { headers: [...lines, ...headers] })).status).toBe(403);
    }
  });
});

describe("the daemon's own address as Origin", () => {
  // Sent by Chromium with a page's upgrade; no page can remove it.
  const browser = "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/147.0.0.0";
  const [route, polling, upgrade] = waysIn;
  type Way = (typeof waysIn)[number];
  const statusOf = async (way: Way, host: string, origins: readonly string[], ...more: string[]) => {
    const lines = [`Host: ${host}`, ...origins.map(origin => `Origin: ${origin}`)].map(filled);
    return (await rawRequest(t.url, way.target, { headers: [...lines, ...more, ...way.headers] })).status;
  };

  test.each(["127.0.0.1:PORT", "localhost:PORT", "[::1]:PORT"])(
    "is accepted in an upgrade of a tool to %s, as python3-websocket sends it",
    async host => expect(await statusOf(upgrade, host, [`http://${host}`])).toBe(101),
  );

  test.each([
    ["with a browser's User-Agent", browser],
    ["with any User-Agent, which a person can choose", "User-Agent: x"],
    ["with an empty User-Agent", "User-Agent:"],
    ["with Sec-Fetch-Site, which Firefox sends", "Sec-Fetch-Site: same-origin"],
  ])("is refused and counted in an upgrade %s: a page of the port's earlier owner", async (_, header) => {
    const before = await refusals("origin");
    expect(await statusOf(upgrade, "127.0.0.1:PORT", ["http://127.0.0.1:PORT"], header)).toBe(403);
    expect(await refusals("origin")).toBe(before + 1);
  });

  test.each([route, polling])("is refused and counted by $way", async way => {
    const before = await refusals("origin");
    for (const headers of [[], [browser]])
      expect(await statusOf(way, "127.0.0.1:PORT", ["http://127.0.0.1:PORT"], ...headers)).toBe(403);
    expect(await refusals("origin")).toBe(before + 2);
  });

  test("is refused beside a foreign one, and at another Host than its own", async () => {
    const own = "http://127.0.0.1:PORT";
    for (const origins of [
      [own, "http://evil.example"],
      ["http://evil.example", own],
    ])
      expect(await statusOf(upgrade, "127.0.0.1:PORT", origins)).toBe(403);
    for (const host of ["localhost:PORT", "SCREEN", "evil.example"])
      expect(await statusOf(upgrade, filled(host), [own])).toBe(403);
  });
});

describe("a refusal", () => {
  test.each([
    ["host", "named-in-the-log.example", /127\.0\.0\.1 or localhost/],
    ["origin", "http://named-in-the-log.example", /"origins".*settings\.json/],
  ])("is logged with the %s received and what to do", async (cause, value, words) => {
    const headers = cause === "host" ? [`Host: ${value}`] : [filled("Host: localhost:PORT"), `Origin: ${value}`];
    await rawRequest(t.url, "/", { headers });
    const line = t.log.find(one => one.includes(`"${value}"`));
    expect(JSON.parse(line ?? "{}")).toMatchObject({ cause, [cause]: value, msg: expect.stringMatching(words) });
  });

  test("of a tab of an earlier screen is in neither the log nor the audit file, which it would fill", async () => {
    const host = `${"fedcba9876543210".repeat(2)}.localhost:PORT`;
    const { body } = await rawRequest(t.url, "/", { headers: [filled(`Host: ${host}`)] });
    expect(body).toContain("repoconf ui");
    expect(t.log.filter(line => line.includes("fedcba9876543210"))).toEqual([]);
    expect(await readFile(join(t.homeFolder, "audit.log"), "utf8")).not.toContain('"page"');
  });

  test.each(["POST", "OPTIONS", "HEAD", "PUT", "DELETE"])("comes before any route is checked: %s", async method => {
    for (const target of ["/", "/nothing", "/identity", pollingHandshake, `${pollingHandshake}&sid=unknown`]) {
      const headers = [filled("Host: localhost:PORT"), "Origin: http://evil.example"];
      expect((await rawRequest(t.url, target, { method, headers })).status).toBe(403);
    }
  });
});
