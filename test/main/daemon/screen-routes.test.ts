import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../helpers/daemon.ts";
import { followLink } from "../../helpers/open-socket.ts";
import { pollingHandshake, type RawAnswer, rawRequest } from "../../helpers/raw-http.ts";
import { temporaryFolder } from "../../helpers/temporary-folder.ts";

/** A built screen, with files beside it and in it that must not be served. */
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

interface Get {
  readonly daemon?: TestDaemon;
  readonly method?: string;
  /** The screen's host if left out. */
  readonly host?: string;
  readonly headers?: readonly string[];
}

function get(path: string, { daemon = t, method = "GET", host = daemon.screenHost, headers = [] }: Get = {}) {
  return rawRequest(daemon.url, path, { method, headers: [`Host: ${host}`, ...headers] });
}

const addressOf = (daemon: TestDaemon) => new URL(daemon.url).host;

function expectSafeHeaders({ headers }: RawAnswer): void {
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  expect(headers.get("access-control-allow-origin")).toBeUndefined();
}

/** What is not part of the build gets a 404 that reveals nothing. */
async function expectNotFound(path: string): Promise<void> {
  const answer = await get(path);
  expect(answer.status).toBe(404);
  expect(answer.body).toBe("Not found.\n");
  expectSafeHeaders(answer);
}

test("the page is served, also with a query, with the screen's policy and a new nonce, the same in header and page", async () => {
  const nonceOf = ({ body }: RawAnswer) => /nonce="([^"]*)"/.exec(body)?.[1] ?? "";
  expect(nonceOf(await get("/"))).not.toBe(nonceOf(await get("/")));
  const answer = await get("/?repo=shop");
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expectSafeHeaders(answer);
  const nonce = nonceOf(answer);
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
      `connect-src 'self' ws://${t.screenHost}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ].join("; "),
  );
});

describe("the built files", () => {
  test.each([
    ["/assets/index-Ab12.js", "text/javascript; charset=utf-8", "// the screen", "public, max-age=31536000, immutable"],
    ["/assets/index-Cd34.css", "text/css; charset=utf-8", "p {}", "public, max-age=31536000, immutable"],
    // Its name does not change with its content.
    ["/icon.svg", "image/svg+xml", "<svg/>", "no-cache"],
  ])(
    "%s is served with its type, and cached for good only if its name identifies its content",
    async (path, type, body, cache) => {
      const answer = await get(path);
      expect(answer.status).toBe(200);
      expect(answer.body).toBe(body);
      expect(answer.headers.get("content-type")).toBe(type);
      expect(answer.headers.get("cache-control")).toBe(cache);
      expect(answer.headers.get("cross-origin-resource-policy")).toBe("same-origin");
      expectSafeHeaders(answer);
    },
  );

  test.each(["/", "/icon.svg", "/assets/index-Ab12.js", "/nothing"])(
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
    ..."/index.html /assets/index-Ab12.js.map /assets/noextension /assets/link.json /assets/".split(" "),
    ..."/assets /assets/index-Ab12.js/ /icon.svg%00 /repo/shop /__proto__".split(" "),
  ])("%s is not served", path => expectNotFound(path));

  test.each([
    "/../secret.json",
    "/assets/../../secret.json",
    "/%2e%2e%2fsecret.json",
    "/assets/..%2f..%2fsecret.json",
    "/..\\secret.json",
    "/%252e%252e/secret.json",
    "/....//secret.json",
    "//etc/passwd",
    "http://evil.example/secret.json",
  ])("no path leads out of the folder: %s", path => expectNotFound(path));
});

describe("the guard", () => {
  const evil = [
    ["a rebound Host", ["Host: evil.example:PORT"]],
    ["another port", ["Host: SCREEN:1"]],
    ["the screen's name without its port", ["Host: SCREEN"]],
    ["the screen's name in capitals", ["Host: CAPITALS:PORT"]],
    ["a guessed name", [`Host: ${"0".repeat(32)}.localhost:PORT`]],
    ["a subdomain of the screen's name", ["Host: x.SCREEN:PORT"]],
    ["a foreign Origin", ["Host: SCREEN:PORT", "Origin: http://evil.example"]],
    ["the Origin of a page on the daemon's address", ["Host: SCREEN:PORT", "Origin: http://127.0.0.1:PORT"]],
    ["the Origin of a page on localhost", ["Host: SCREEN:PORT", "Origin: http://localhost:PORT"]],
    ["the Origin null", ["Host: SCREEN:PORT", "Origin: null"]],
    [
      "another site's page that loads it as a script",
      ["Host: SCREEN:PORT", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"],
    ],
  ] as const;

  test.each(evil)("refuses %s for the page, its files and a connection", async (_title, headers) => {
    const [name = "", port = ""] = t.screenHost.split(":");
    const filled = headers.map(line =>
      line.replace("PORT", port).replace("SCREEN", name).replace("CAPITALS", name.toUpperCase()),
    );
    for (const path of ["/", "/icon.svg", "/assets/index-Ab12.js", "/nothing", pollingHandshake]) {
      const answer = await rawRequest(t.url, path, { headers: filled });
      expect(answer.status).toBe(403);
      expect(answer.body).toContain("Refused");
    }
  });

  test("allows following a link from another site", async () => {
    const headers = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"];
    expect((await get("/", { headers })).status).toBe(200);
  });
});

describe("the screen's own host", () => {
  test("is new on each start, and known only from its link", async () => {
    await using daemon = await startTestDaemon({ screenFolder: screen.folder });
    const hosts = [daemon.screenHost];
    const answers = await Promise.all(
      ["/", "/livez", "/identity?nonce=x", "/nothing"].map(path => get(path, { daemon, host: addressOf(daemon) })),
    );
    answers.push(await get("/", { daemon, host: "evil.example" }));
    const responses = JSON.stringify(answers.map(({ headers, body }) => [...headers, body]));
    for (const text of [responses, daemon.log.join(), await readFile(join(daemon.homeFolder, "daemon.json"), "utf8")])
      expect(text).not.toContain(hosts[0]?.split(".")[0]);
    await daemon.restart();
    hosts.push(daemon.screenHost);
    for (const host of hosts) expect(host).toMatch(/^[0-9a-f]{32}\.localhost:\d+$/);
    expect(hosts[0]?.split(".")[0]).not.toBe(hosts[1]?.split(".")[0]);
    expect((await get("/", { daemon, host: hosts[0] ?? "" })).status).toBe(403);
  });

  test.each(["127.0.0.1", "localhost", "[::1]"])("%s serves neither the page nor its files", async name => {
    const host = `${name}:${new URL(t.url).port}`;
    const front = await get("/", { host });
    expect(front.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(front.body).toContain("repoconf ui");
    for (const path of ["/icon.svg", "/assets/index-Ab12.js"]) expect((await get(path, { host })).status).toBe(404);
  });

  test("serves nothing but the screen", async () => {
    for (const path of ["/livez", "/readyz", "/metrics", `/identity?nonce=${"0".repeat(64)}`])
      await expectNotFound(path);
  });
});

test("the screen by address, for browsers that cannot resolve its name, has its own port, which serves the page, lets it connect, and refuses every other Host and Origin", async () => {
  await using daemon = await startTestDaemon({ screenFolder: screen.folder });
  const linkOf = async () => (await daemon.owner.call("session/link", { byAddress: true })).result.url;
  const link = await linkOf();
  const { origin, host, hostname, port } = new URL(link);
  expect(hostname).toBe("127.0.0.1");
  expect(port).not.toBe(new URL(daemon.url).port);
  expect(new URL(await linkOf()).origin).toBe(origin);
  const ask = async (path: string, ...headers: readonly string[]) => rawRequest(origin, path, { headers });
  const page = await ask("/", `Host: ${host}`);
  expect(page.headers.get("content-security-policy")).toContain(`connect-src 'self' ws://${host};`);
  expect((await ask("/icon.svg", `Host: ${host}`)).status).toBe(200);
  expect((await ask("/livez", `Host: ${host}`)).status).toBe(404);
  expect((await ask(pollingHandshake, `Host: ${host}`, `Origin: ${origin}`)).status).toBe(200);
  for (const other of [daemon.screenHost, addressOf(daemon), `localhost:${port}`, "evil.example"])
    expect((await ask("/", `Host: ${other}`)).status).toBe(403);
  for (const other of [`http://${daemon.screenHost}`, daemon.url, `http://localhost:${port}`])
    expect((await ask(pollingHandshake, `Host: ${host}`, `Origin: ${other}`)).status).toBe(403);
  // The session is like any other.
  const session = await followLink(link);
  const window = await daemon.connect(session);
  expect((await window.call("key/self")).result).toMatchObject({ name: "owner (browser)" });
  // It stops with the daemon, and the next one has none before it is requested.
  await daemon.restart();
  await expect(fetch(origin)).rejects.toThrow();
});

test("a daemon whose screen is not named, does not exist or is an empty folder says so in plain text, and serves nothing else", async () => {
  await using above = await temporaryFolder();
  for (const options of [{}, { screenFolder: join(above.path, "nowhere") }, { screenFolder: above.path }]) {
    await using daemon: TestDaemon = await startTestDaemon(options);
    const answer = await get("/", { daemon });
    expect(answer.status).toBe(404);
    expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(answer.body).toContain("does not include the screen");
    expectSafeHeaders(answer);
    expect((await get("/icon.svg", { daemon })).status).toBe(404);
  }
});
