import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Frame, Page } from "playwright-core";
import { afterAll, beforeEach, describe, test, vi } from "vitest";
import { launchBrowser, openContext } from "../helpers/browser.ts";
import { startTestDaemon, type TestDaemon } from "../helpers/daemon.ts";
import { judge } from "../helpers/promise.ts";
import { screenFolder } from "../helpers/screen.ts";
import { titleWith } from "../helpers/skips.ts";
import { guard } from "../helpers/switched-guard.ts";
import { temporaryFolder } from "../helpers/temporary-folder.ts";

// A mock: the guard with a switch for these tests.
vi.mock("../../main/daemon/http/guard.ts", () => import("../helpers/switched-guard.ts"));
beforeEach(() => {
  guard.on = true;
});

/**
 * Disables the browser's own rules for the local network, which would hide ours; adds a public name that resolves to this host.
 */
const switches = [
  "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessRespectPreflightResults",
  "--host-resolver-rules=MAP rebound.example 127.0.0.1",
];
const browser: Browser | undefined = await launchBrowser(switches);
afterAll(() => browser?.close());

/** The bytes that a page could read, by each way that it can try. */
type Loot = { readonly [way: string]: number };

/**
 * Runs in the page: everything that a script without a key can try at `target`. Each way ends by itself. For a rebound page, a
 * refusal is of the same origin, so it can read those sentences; they contain only what the page knew and are not counted.
 */
const attack = `async target => {
  const patience = 3000;
  const within = (promise, fallback = 0) =>
    Promise.race([promise.catch(() => fallback), new Promise(resolve => setTimeout(resolve, patience, fallback))]);
  const { host } = new URL(target);
  const refusal = new RegExp("^Refused: (Host must be 127.0.0.1 or localhost, with the port|pages of other sites may not load this" +
    '|the origin "' + location.origin + '" is not allowed. If it is yours, add it to "origins" in settings.json).$');
  const measure = text => (refusal.test(text.trim()) ? 0 : text.length);
  const read = async (path, options) => measure(await (await fetch(target + path, options)).text());
  const handshake = "/socket.io/?EIO=4&transport=polling";
  const nonce = "/identity?nonce=" + "0".repeat(64);
  const loot = {};
  loot.polling = await within(read(handshake));
  loot["polling, own headers"] = await within(read(handshake, { headers: { "X-Mine": "1" } }));
  loot["polling, XMLHttpRequest"] = await within(new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", target + handshake);
    request.onload = () => resolve(measure(request.responseText));
    request.onerror = reject;
    request.send();
  }));
  loot.websocket = await within(new Promise((resolve, reject) => {
    const socket = new WebSocket("ws://" + host + "/socket.io/?EIO=4&transport=websocket");
    socket.onmessage = ({ data }) => { resolve(data.length); socket.close(); };
    socket.onerror = reject;
  }));
  for (const path of ["/", "/livez", "/readyz", nonce, "/metrics", "/icon.svg"]) {
    const name = path.split("?")[0];
    loot["fetch " + name] = await within(read(path));
    loot["fetch without CORS " + name] = await within(read(path, { mode: "no-cors" }));
  }
  loot["fetch POST /"] = await within(read("/", { method: "POST", body: '{"code":"x"}' }));
  const element = (name, members) => within(new Promise(resolve => {
    const made = Object.assign(document.createElement(name), members);
    made.onload = () => resolve(made);
    made.onerror = () => resolve(undefined);
    document.documentElement.append(made);
  }), undefined);
  let told = 0;
  window.___eio = [text => { told += text.length; }];
  await element("script", { src: target + handshake + "&j=0" });
  loot["script, JSONP"] = told;
  const before = Object.keys(window).length;
  await element("script", { src: target + "/livez" });
  loot["script, new names"] = Object.keys(window).length - before;
  loot["img, its width"] = (await element("img", { src: target + "/icon.svg" }))?.naturalWidth ?? 0;
  const link = await element("link", { rel: "stylesheet", href: target + "/" });
  try { loot["style sheet, rules"] = link?.sheet?.cssRules.length ?? 0; } catch { loot["style sheet, rules"] = 0; }
  const textOf = frame => { try { return measure(frame?.contentDocument?.body?.innerText ?? ""); } catch { return 0; } };
  loot.frame = textOf(await element("iframe", { src: target + "/" }));
  const name = "posted" + Math.random();
  const posted = Object.assign(document.createElement("iframe"), { name });
  document.documentElement.append(posted);
  for (const [action, enctype] of [[handshake, "text/plain"], ["/", "text/plain"], ["/livez", "multipart/form-data"]]) {
    const form = Object.assign(document.createElement("form"), { method: "POST", action: target + action, target: name, enctype });
    form.append(Object.assign(document.createElement("input"), { name: '{"code":"', value: '"}' }));
    document.documentElement.append(form);
    const done = within(new Promise(resolve => { posted.onload = resolve; }));
    form.submit();
    await done;
    loot["form to " + action.split("?")[0]] = textOf(posted);
  }
  return loot;
}`;

async function runAttack(frame: Frame | Page, target: string): Promise<Loot> {
  return frame.evaluate(`(${attack})(${JSON.stringify(target)})`);
}

function total(loot: Loot): number {
  return Object.values(loot).reduce((sum, bytes) => sum + bytes, 0);
}

const foreign = createServer((_request, response) => {
  response.writeHead(200, { "Content-Type": "text/html" });
  response.end("<!doctype html><title>A page of somebody else</title>");
});
await new Promise<void>(resolve => foreign.listen(0, "127.0.0.1", resolve));
const { port: foreignPort } = foreign.address() as AddressInfo;
afterAll(() => {
  foreign.close();
  foreign.closeAllConnections();
});

/** Opens the attacking page, and returns the frame in which its script runs. */
type Opens = (page: Page, t: TestDaemon) => Promise<Frame | Page>;

const at = (url: (port: number) => string): Opens => {
  return async page => {
    await page.goto(url(foreignPort));
    return page;
  };
};

/**
 * A page whose name resolves to this host after it was loaded. A mock: the test serves the page itself; every later request goes
 * to the daemon.
 */
const rebound = (name: string): Opens => {
  return async (page, t) => {
    const url = `http://${name}:${new URL(t.url).port}/attacker`;
    await page.route(url, route => route.fulfill({ contentType: "text/html", body: "<!doctype html>" }), { times: 1 });
    await page.goto(url);
    return page;
  };
};

const pages: readonly { readonly title: string; readonly open: Opens; readonly rebound?: string }[] = [
  { title: "another origin (evil.localhost)", open: at(port => `http://evil.localhost:${port}/`) },
  { title: "another port of 127.0.0.1", open: at(port => `http://127.0.0.1:${port}/`) },
  { title: "another port of localhost", open: at(port => `http://localhost:${port}/`) },
  {
    title: "the origin null of a sandboxed frame",
    open: async page => {
      await page.goto(`http://localhost:${foreignPort}/`);
      await page.setContent(`<iframe sandbox="allow-scripts allow-forms" srcdoc="<!doctype html>"></iframe>`);
      const frame = page.frames()[1];
      if (frame === undefined) throw new Error("there is no frame");
      return frame;
    },
  },
  { title: "the origin null of a data: address", open: at(() => "data:text/html,<!doctype html>") },
  {
    title: "a file of this host",
    open: async page => {
      await using folder = await temporaryFolder();
      const file = join(folder.path, "page.html");
      await writeFile(file, "<!doctype html>");
      await page.goto(pathToFileURL(file).href);
      return page;
    },
  },
  // Planted by the previous user of the port, and kept by a service worker.
  { title: "the daemon's own address", open: rebound("127.0.0.1"), rebound: "127.0.0.1" },
  { title: "the daemon's own address by its other name", open: rebound("localhost"), rebound: "localhost" },
  { title: "a rebound name of the loopback (x.localhost)", open: rebound("x.localhost"), rebound: "x.localhost" },
  {
    title: "a rebound name of the net (rebound.example)",
    open: rebound("rebound.example"),
    rebound: "rebound.example",
  },
];

describe.skipIf(browser === undefined)(titleWith(browser !== undefined, "Chromium", "pages in a real Chromium"), () => {
  test("S3 foreign origins read nothing: 0 bytes by any way from any page, and with the guard off each reads something", async () => {
    await using t = await startTestDaemon({ screenFolder });
    if (browser === undefined) throw new Error("there is no browser");
    const wrong: string[] = [];
    const loots: Loot[] = [];
    for (const { title, open, rebound: name } of pages) {
      // A rebound page requests its own address, which is the same origin to the browser.
      const targets = name === undefined ? [t.url, `http://${t.screenHost}`] : [t.url.replace("127.0.0.1", name)];
      const run = async () => {
        const context = await openContext(browser);
        const page = await open(await context.newPage(), t);
        const loot: { [way: string]: number } = {};
        for (const target of targets)
          for (const [way, bytes] of Object.entries(await runAttack(page, target)))
            loot[way] = (loot[way] ?? 0) + bytes;
        await context.close();
        return loot;
      };
      guard.on = false;
      const without = await run();
      if (total(without) === 0) wrong.push(`${title}: reads nothing even with the guard off`);
      for (const way of ["polling", "websocket"])
        if (without[way] === 0) wrong.push(`${title}: ${way} reads nothing even with the guard off`);
      guard.on = true;
      const refusals = async () => {
        const { host = 0, origin = 0 } = (await t.owner.call("daemon/status")).result.refusals ?? {};
        return host + origin;
      };
      const before = await refusals();
      const loot = await run();
      loots.push(loot);
      for (const [way, bytes] of Object.entries(loot)) if (bytes > 0) wrong.push(`${title}: ${way} reads ${bytes}`);
      if ((await refusals()) === before) wrong.push(`${title}: nothing was counted`);
    }
    const tried = loots.reduce((sum, loot) => sum + Object.keys(loot).length, 0);
    const bytes = loots.reduce((sum, loot) => sum + total(loot), 0);
    judge("S3", tried, wrong, `${bytes} bytes read by ${pages.length} pages`);
  });
});
