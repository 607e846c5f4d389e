import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { type RawAnswer, rawRequest } from "../../helpers/raw-http.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/** A screen as a build leaves it, with what must not get out beside it and in it. */
async function makeScreen() {
  const folder = await temporaryFolder();
  const screen = join(folder.path, "screen");
  await mkdir(join(screen, "assets"), { recursive: true });
  const page = `<!doctype html><meta property="csp-nonce" nonce="__NONCE__"><title>Repoconf</title><p>__NONCE__</p>`;
  await writeFile(join(screen, "index.html"), page);
  await writeFile(join(screen, "icon.svg"), "<svg/>");
  await writeFile(join(screen, "assets/index-Ab12.js"), "// the screen");
  await writeFile(join(screen, "assets/index-Cd34.css"), "p {}");
  await writeFile(join(screen, "assets/index-Ab12.js.map"), "secret");
  await writeFile(join(screen, "assets/noextension"), "secret");
  await writeFile(join(folder.path, "secret.json"), "secret");
  await symlink(join(folder.path, "secret.json"), join(screen, "assets/link.json"));
  return { folder: screen, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

const screen = await makeScreen();
const t = await startTestDaemon({ screenFolder: screen.folder });
afterAll(async () => {
  await t[Symbol.asyncDispose]();
  await screen[Symbol.asyncDispose]();
});

function get(path: string, { daemon = t, method = "GET", headers = [] as readonly string[] } = {}): Promise<RawAnswer> {
  return rawRequest(daemon.url, path, { method, headers: [`Host: ${new URL(daemon.url).host}`, ...headers] });
}

function expectSafeHeaders({ headers }: RawAnswer): void {
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  expect(headers.get("access-control-allow-origin")).toBeUndefined();
}

/** What no build made is answered with words that tell nothing. */
async function expectNothing(path: string): Promise<void> {
  const answer = await get(path);
  expect(answer.status).toBe(404);
  expect(answer.body).toBe("There is nothing here.\n");
  expectSafeHeaders(answer);
}

describe("the page", () => {
  test("comes with the policy of the screen, its nonce the same in header and page", async () => {
    const answer = await get("/");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expectSafeHeaders(answer);
    const nonce = /nonce="([^"]*)"/.exec(answer.body)?.[1] ?? "";
    expect(Buffer.from(nonce, "base64")).toHaveLength(16);
    expect(answer.body).not.toContain("__NONCE__");
    expect(answer.body).toContain(`<p>${nonce}</p>`);
    expect(answer.headers.get("content-security-policy")).toBe(
      [
        "default-src 'none'",
        "script-src 'self'",
        `style-src 'self' 'nonce-${nonce}'`,
        "img-src 'self' data:",
        "font-src 'self'",
        `connect-src 'self' ws://${new URL(t.url).host}`,
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ].join("; "),
    );
  });

  test("has a fresh nonce at each load", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => get("/")));
    const nonces = answers.map(({ body }) => /nonce="([^"]*)"/.exec(body)?.[1]);
    expect(new Set(nonces).size).toBe(20);
  });

  test("connects to the daemon by the name that the browser knows it by", async () => {
    const { port } = new URL(t.url);
    const { headers } = await rawRequest(t.url, "/", { headers: [`Host: localhost:${port}`] });
    expect(headers.get("content-security-policy")).toContain(`connect-src 'self' ws://localhost:${port};`);
  });

  test("is the same with a query, and index.html is no second one", async () => {
    expect((await get("/?repo=shop")).headers.get("content-type")).toBe("text/html; charset=utf-8");
    await expectNothing("/index.html");
  });
});

describe("the built files", () => {
  test.each([
    ["/assets/index-Ab12.js", "text/javascript; charset=utf-8", "// the screen", "public, max-age=31536000, immutable"],
    ["/assets/index-Cd34.css", "text/css; charset=utf-8", "p {}", "public, max-age=31536000, immutable"],
    // Its name stays when it changes.
    ["/icon.svg", "image/svg+xml", "<svg/>", "no-cache"],
  ])("%s comes with its type, and is kept as long as its name tells its content", async (path, type, body, cache) => {
    const answer = await get(path);
    expect(answer.status).toBe(200);
    expect(answer.body).toBe(body);
    expect(answer.headers.get("content-type")).toBe(type);
    expect(answer.headers.get("cache-control")).toBe(cache);
    expect(answer.headers.get("cross-origin-resource-policy")).toBe("same-origin");
    expectSafeHeaders(answer);
  });

  test.each(["/", "/icon.svg", "/assets/index-Ab12.js", "/livez", "/nothing"])(
    "HEAD of %s has the headers of GET and no body",
    async path => {
      const [whole, head] = [await get(path), await get(path, { method: "HEAD" })];
      expect(head.status).toBe(whole.status);
      expect(head.body).toBe("");
      for (const name of ["content-type", "content-length", "cache-control", "x-content-type-options"])
        expect(head.headers.get(name)).toBe(whole.headers.get(name));
    },
  );

  test.each(["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])("%s gets 405", async method => {
    for (const path of ["/", "/icon.svg", "/nothing"]) {
      const { status, headers } = await get(path, { method });
      expect(status).toBe(405);
      expect(headers.get("allow")).toBe("GET, HEAD");
    }
  });

  test.each([
    "/assets/index-Ab12.js.map",
    "/assets/noextension",
    "/assets/link.json",
    "/assets/",
    "/assets",
    "/assets/index-Ab12.js/",
    "/ASSETS/INDEX-AB12.JS",
    "/icon.svg%00",
    "/assets%2findex-Ab12.js",
    "/%69con.svg",
    "/repo/shop",
    "/__proto__",
    "/constructor",
    "/owner.key",
    "/daemon.json",
  ])("%s is not among them", path => expectNothing(path));

  test.each([
    "/../secret.json",
    "/assets/../../secret.json",
    "/%2e%2e/secret.json",
    "/%2e%2e%2fsecret.json",
    "/assets/%2e%2e/%2e%2e/secret.json",
    "/assets/..%2f..%2fsecret.json",
    "/..\\secret.json",
    "/..%5csecret.json",
    "/assets\\..\\..\\secret.json",
    "/%252e%252e/secret.json",
    "/....//secret.json",
    "//etc/passwd",
    "/.//secret.json",
    "/C:/secret.json",
    "/file:///etc/passwd",
    "http://evil.example/secret.json",
  ])("no way leads out of the folder: %s", path => expectNothing(path));
});

describe("the guard", () => {
  const evil = [
    ["a rebound Host", ["Host: evil.example:PORT"]],
    ["another port", ["Host: 127.0.0.1:1"]],
    ["a foreign Origin", ["Host: 127.0.0.1:PORT", "Origin: http://evil.example"]],
    ["another port's Origin", ["Host: 127.0.0.1:PORT", "Origin: http://127.0.0.1:1"]],
    ["the Origin null", ["Host: 127.0.0.1:PORT", "Origin: null"]],
    [
      "another site's page that loads it as a script",
      ["Host: 127.0.0.1:PORT", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"],
    ],
  ] as const;

  test.each(evil)("turns %s away from the page, its files and the session", async (_title, headers) => {
    const { port } = new URL(t.url);
    const filled = headers.map(line => line.replace("PORT", port));
    const { result } = await t.owner.call("session/link");
    const body = JSON.stringify({ code: result.code });
    for (const path of ["/", "/icon.svg", "/assets/index-Ab12.js", "/nothing"]) {
      const answer = await rawRequest(t.url, path, { headers: filled });
      expect(answer.status).toBe(403);
      expect(answer.body).toContain("Refused");
    }
    expect((await rawRequest(t.url, "/session", { method: "POST", headers: filled, body })).status).toBe(403);
    expect((await t.owner.call("key/list")).result).toEqual([]);
  });

  test("lets in who follows a link from elsewhere", async () => {
    const headers = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"];
    expect((await get("/", { headers })).status).toBe(200);
  });
});

describe("a daemon without a built screen", () => {
  test.each<[title: string, folder: (above: string) => string | undefined]>([
    ["no folder is named", () => undefined],
    ["the folder is not there", above => join(above, "nowhere")],
    ["the folder is empty", above => above],
  ])("says so in words at /, and serves nothing else: %s", async (_title, folder) => {
    await using above = await temporaryFolder();
    const screenFolder = folder(above.path);
    await using daemon: TestDaemon = await startTestDaemon(screenFolder === undefined ? {} : { screenFolder });
    const answer = await get("/", { daemon });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(answer.body).toContain("built without its screen");
    expectSafeHeaders(answer);
    expect((await get("/icon.svg", { daemon })).status).toBe(404);
  });
});
