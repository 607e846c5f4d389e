import { setTimeout as delay } from "node:timers/promises";
import type { Browser, Locator } from "playwright-core";
import { launchBrowser, openContext } from "../helpers/browser.ts";
import type { Machine, Server } from "./machine.ts";
import { ask } from "./sockets.ts";

/** How long to wait after the start of daemon and browser, in milliseconds: people have them running. */
const settleTime = 2_000;
/** Browsers tell of no task that takes less time, in milliseconds. */
const shortestTold = 50;
/** How long to wait for something to be shown, in milliseconds: only what hangs takes longer. */
const longestWait = 120_000;

/** Records long tasks. */
const observer = `window.longTasks = [];
new PerformanceObserver(list => {
  for (const { startTime, duration } of list.getEntries()) longTasks.push({ start: startTime, duration });
}).observe({ type: "longtask", buffered: true });`;

/** From now on, `window.painted` is the time when an element was painted that matches, in milliseconds since the page began. */
const watchFor = (selector: string) => `window.painted = null;
(function look() {
  if (document.querySelector(${JSON.stringify(selector)}) === null) return requestAnimationFrame(look);
  requestAnimationFrame(() => requestAnimationFrame(() => { window.painted = performance.now(); }));
})();`;

interface LongTask {
  readonly start: number;
  readonly duration: number;
}

export type Visit = Awaited<ReturnType<typeof visit>>;

/** Starts a browser for all visits. Undefined: there is none. */
export function startBrowser(machine: Machine): Promise<Browser | undefined> {
  return machine.onBothCores(() => launchBrowser());
}

/** Opens the built screen of a daemon in a window that knows nothing yet, to measure what happens there. */
export async function visit(daemon: Server, browser: Browser) {
  await using opening = new AsyncDisposableStack();
  const socket = await daemon.connect();
  const { result } = await ask(socket, "session/link", {});
  socket.close();
  const context = await openContext(browser, { viewport: { width: 1440, height: 900 } });
  opening.defer(() => context.close());
  context.setDefaultTimeout(longestWait);
  const page = await context.newPage();
  const failures: string[] = [];
  page.on("pageerror", ({ message }) => failures.push(message));
  const first = "[role=treeitem]";
  await page.addInitScript(observer + watchFor(first));
  await delay(settleTime);
  const { url } = result as { readonly url: string };
  await page.goto(url);
  const opened = opening.move();
  const painted = async (selector: string) => {
    // Polled, because the page's Content Security Policy forbids the eval that Playwright's waitForFunction needs.
    for (const end = Date.now() + longestWait; Date.now() < end; await delay(20)) {
      const time = await page.evaluate<number | null>("window.painted");
      if (time !== null) return time;
    }
    throw new Error(`${selector} was not shown within ${longestWait} ms`);
  };
  const now = () => page.evaluate<number>("performance.now()");
  const longestSince = async (begin: number) => {
    const tasks = await page.evaluate<readonly LongTask[]>("window.longTasks");
    return Math.max(shortestTold, ...tasks.filter(({ start }) => start >= begin).map(({ duration }) => duration));
  };
  return {
    page,
    /** From when the page has its script to when it has painted the first rows, and the longest task of this. */
    firstRows: async () => {
      const time = await painted(first);
      const script = "performance.getEntriesByType('resource').find(({ name }) => name.endsWith('.js')).responseEnd";
      return { shown: time - (await page.evaluate<number>(script)), task: await longestSince(0) };
    },
    /** The longest task while this is done; with a selector, also milliseconds until an element that matches is painted, and what follows. */
    measure: async (work: () => Promise<unknown>, selector?: string) => {
      if (selector !== undefined) await page.evaluate(watchFor(selector));
      const begin = await now();
      await work();
      const shown = selector === undefined ? undefined : (await painted(selector)) - begin;
      if (selector !== undefined) await delay(settleTime);
      return { shown, task: await longestSince(begin) };
    },
    /** Turns the wheel over an element. */
    scroll: async (over: Locator) => {
      await over.hover();
      for (let step = 0; step < 100; step += 1) {
        await page.mouse.wheel(0, 1_500);
        await delay(16);
      }
    },
    [Symbol.asyncDispose]: async () => {
      await opened.disposeAsync();
      if (failures.length > 0) throw new Error(`errors in the page: ${failures.join("; ")}`);
    },
  };
}
