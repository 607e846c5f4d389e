import type { Page, WebSocketRoute } from "playwright-core";
import { until } from "./daemon.ts";

/** Requests of a page, held until the test releases them: simulates a daemon as slow as the test needs. */
export interface HeldRequests {
  /** How often the page has requested the operation so far. */
  asked(operation: string): number;
  /** Waits until a request is held. */
  untilHeld(): Promise<void>;
  /** Releases the held requests, modified by `change`, and holds the following ones. */
  release(change?: (message: string) => string): void;
}

/** Holds the page's requests for these operations from its next connection on. */
export async function holdRequests(page: Page, operations: readonly string[]): Promise<HeldRequests> {
  const asked: string[] = [];
  const held: ((change: (message: string) => string) => void)[] = [];
  const route = (socket: WebSocketRoute) => {
    const server = socket.connectToServer();
    socket.onMessage(message => {
      const [, resource = "", operation = ""] = /^42\d+\["svc","(\w+)","(\w+)"/.exec(String(message)) ?? [];
      const name = `${resource}/${operation}`;
      if (!operations.includes(name)) return server.send(message);
      asked.push(name);
      held.push(change => server.send(change(String(message))));
    });
  };
  if (operations.length > 0) await page.routeWebSocket(/socket\.io/, route);
  return {
    asked: operation => asked.filter(name => name === operation).length,
    untilHeld: () => until(() => held.length > 0, `a request for ${operations.join(" or ")}`),
    release: (change = message => message) => {
      for (const send of held.splice(0)) send(change);
    },
  };
}
