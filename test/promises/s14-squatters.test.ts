import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, describe, expect, test } from "vitest";
import { keyCredentials } from "../../main/home/credentials.ts";
import { RepoconfClient } from "../../shared/client/client.ts";
import { launchBrowser, openContext } from "../helpers/browser.ts";
import { startTestDaemon, until } from "../helpers/daemon.ts";
import { patience } from "../helpers/patience.ts";
import { amount, judge } from "../helpers/promise.ts";
import { reads, screenFolder, startScreen } from "../helpers/screen.ts";
import { titleWith } from "../helpers/skips.ts";
import { startSquatter } from "../helpers/squatter.ts";

const browser: Browser | undefined = await launchBrowser();
afterAll(() => browser?.close());

/** A text value, because a number could appear in a proof by chance. */
const neverSent = "never-sent.example";
/** The number of clients in each race. */
const clientCount = 3;

test("S14 a program that takes the port when the daemon stops gets no key or value from returning clients, and they believe nothing it says", async () => {
  const races = amount(3, 100);
  const wrong: string[] = [];
  for (let race = 0; race < races; race++) {
    await using t = await startTestDaemon({ repositories: ["shop"] });
    const { url, ownerKey } = t;
    const locate = async () => ({ url, credentials: keyCredentials(ownerKey) });
    const clients = Array.from({ length: clientCount }, () => new RepoconfClient({ locate, timeout: patience }));
    const believed: unknown[] = [];
    for (const client of clients) {
      await client.connect();
      void (async () => {
        for await (const message of client.watchEverything()) if (message[0] !== "connection") believed.push(message);
      })();
    }
    await t.daemon.close();
    believed.length = 0;
    const answer = race % 2 === 0 ? "welcome" : "lie";
    await using squatter = await startSquatter({ port: Number(new URL(url).port), answer });
    const answers: unknown[] = [];
    for (const client of clients)
      client.set("shop", { "svc.domain": neverSent }).then(
        changed => answers.push(changed),
        () => {},
      );
    await until(() => squatter.connections() >= clientCount * 2, "the clients to try twice each");
    const received = squatter.received();
    if (received.includes(ownerKey.slice(-43))) wrong.push(`${race}: a key was sent`);
    if (received.includes(neverSent)) wrong.push(`${race}: a value was sent`);
    if (answers.length > 0 || believed.length > 0) wrong.push(`${race}: an answer was believed`);
    for (const client of clients) client.close();
  }
  judge("S14", races, wrong, `races for the port with ${clientCount} clients each`);
});

describe.skipIf(browser === undefined)(titleWith(browser !== undefined, "Chromium", "tabs in a real Chromium"), () => {
  test("S14 a tab whose daemon's port is taken sends no secret of its session and believes nothing", async () => {
    const rounds = amount(2, 20);
    const wrong: string[] = [];
    for (let round = 0; round < rounds; round++) {
      await using screen = await startScreen({ repositories: { shop: { "svc.timeout": 30 } }, samePort: true });
      await using window = await screen.open({ expected: /WebSocket|ERR_CONNECTION|Failed to load/ });
      const { page } = window;
      await window.choose("shop");
      const timeout = page.getByRole("spinbutton", { name: "Timeout" });
      expect(await timeout.inputValue()).toBe("30");
      const kept = await page.evaluate<string>("sessionStorage.getItem('repoconf.session')");
      const secret = kept.split(".")[1] ?? "";
      expect(secret).toMatch(/^[0-9a-f]{64}$/);
      const port = Number(new URL(screen.t.url).port);
      await screen.t.daemon.close();
      const answer = round % 2 === 0 ? "welcome" : "lie";
      await using squatter = await startSquatter({ port, answer });
      await page.getByRole("textbox", { name: "Provider" }).fill("private");
      await until(() => squatter.connections() >= 3, "the tab to try a few times");
      const received = squatter.received();
      if (received.includes(secret)) wrong.push(`${round}: the secret was sent`);
      if (received.includes("private")) wrong.push(`${round}: a value was sent`);
      await reads(page.getByRole("banner").getByRole("status"), "is not responding");
      if ((await timeout.inputValue()) !== "30") wrong.push(`${round}: a value was believed`);
    }
    judge("S14", rounds, wrong, "tabs after another program took the daemon's port");
  });

  test("S14 a service worker that was planted on the port does not see the next daemon's screen", async () => {
    if (browser === undefined) throw new Error("there is no browser");
    const worker = `self.addEventListener("install", () => self.skipWaiting());
      self.addEventListener("activate", event => event.waitUntil(clients.claim()));
      self.addEventListener("fetch", event => event.respondWith(
        new Response("<p>stolen " + event.request.url, { headers: { "Content-Type": "text/html" } })));`;
    const planter = createServer(({ url }, response) => {
      response.writeHead(200, { "Content-Type": url === "/worker.js" ? "text/javascript" : "text/html" });
      response.end(url === "/worker.js" ? worker : "<!doctype html>");
    });
    planter.listen(0, "127.0.0.1");
    await once(planter, "listening");
    const { port } = planter.address() as AddressInfo;
    const context = await openContext(browser);
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${port}/`);
    await page.evaluate(`navigator.serviceWorker.register("/worker.js").then(() => navigator.serviceWorker.ready)`);
    planter.close();
    planter.closeAllConnections();

    await using t = await startTestDaemon({ port, screenFolder, repositories: ["shop"] });
    // It exists, and loads everything from its own origin.
    await page.goto(`http://127.0.0.1:${port}/`);
    await reads(page.locator("body"), "stolen");
    await page.goto(t.daemon.createLink(60_000));
    await page.getByRole("treeitem", { name: "shop" }).waitFor();
    expect(await page.evaluate("navigator.serviceWorker.controller")).toBeNull();
    await context.close();
  });
});
