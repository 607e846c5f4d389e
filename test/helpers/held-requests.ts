import type { Page } from "playwright-core";
import { until } from "./daemon.ts";

/** What a page asks of the daemon, held on its way until it is let go: a daemon as slow as the test needs it. */
export interface HeldRequests {
  /** How often the page has asked for the operation so far. */
  asked(operation: string): number;
  /** Waits until one is held. */
  untilHeld(): Promise<void>;
  /** Lets through what is held, as `change` makes it, and holds what follows. */
  release(change?: (message: string) => string): void;
}

/** Holds the requests for these operations from now on. The page is loaded anew: its connection goes through here. */
export async function holdRequests(page: Page, ...operations: readonly string[]): Promise<HeldRequests> {
  const asked: string[] = [];
  const held: ((change: (message: string) => string) => void)[] = [];
  // The link's code is good for one page only; from now on it has a session.
  await page.getByText("Connected", { exact: true }).waitFor();
  await page.routeWebSocket(/socket\.io/, socket => {
    const server = socket.connectToServer();
    socket.onMessage(message => {
      const [, resource = "", operation = ""] = /^42\d+\["svc","(\w+)","(\w+)"/.exec(String(message)) ?? [];
      const name = `${resource}/${operation}`;
      if (!operations.includes(name)) return server.send(message);
      asked.push(name);
      held.push(change => server.send(change(String(message))));
    });
  });
  await page.reload();
  return {
    asked: operation => asked.filter(name => name === operation).length,
    untilHeld: () => until(() => held.length > 0, `a request for ${operations.join(" or ")}`),
    release: (change = message => message) => {
      for (const send of held.splice(0)) send(change);
    },
  };
}
